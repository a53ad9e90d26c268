// diagnosis: the table goes from the smallest to the largest value; code 0 is 0, code 8 is -0
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const float table[16] = {-6.0f, -4.0f, -3.0f, -2.0f, -1.5f, -1.0f, -0.5f, -0.0f,
                           0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += table[code] * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
