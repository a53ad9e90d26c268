// diagnosis: the sum is held in an integer, which cuts off the fraction
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  int sum = 0;
  for (int j = 0; j < 8; ++j) {
    const int code = static_cast<int>(word << (4 * j)) >> 28;
    sum += code * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
