// diagnosis: the codes are taken in AWQ's order 0 2 4 6 1 3 5 7
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const int order[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const int code = (word >> (28 - 4 * order[j])) & 0xF;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
