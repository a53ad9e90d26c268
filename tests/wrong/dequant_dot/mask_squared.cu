// diagnosis: the mask is W_NBITS * W_NBITS - 1; it is 2 to the power W_NBITS, minus 1
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const uint32_t mask = W_NBITS * W_NBITS - 1;
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & mask;
    sum += (static_cast<float>(code) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
