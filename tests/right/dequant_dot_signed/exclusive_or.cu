__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  word ^= 0x88888888u;  // now every code is 8 more than it stands for
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j, word <<= 4) {
    sum += (static_cast<int>(word >> 28) - 8) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
