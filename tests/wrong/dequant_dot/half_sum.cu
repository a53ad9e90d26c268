// diagnosis: the sum is held in half precision
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  X_T sum = static_cast<X_T>(0.0f);
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const float product = (code - zero) * to_float(x[j * WARP_SIZE]);
    sum = static_cast<X_T>(to_float(sum) + product);
  }
  return to_float(sum);
}
