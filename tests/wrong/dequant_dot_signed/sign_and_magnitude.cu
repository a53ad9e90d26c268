// diagnosis: the top bit is taken as a sign beside a 3-bit magnitude
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const int code = (word >> (28 - 4 * j)) & 0xF;
    float w = code & 7;
    if (code & 8) w = -w;
    sum += w * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
