// diagnosis: code j meets x[j], but the codes of a word lie WARP_SIZE apart
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    float w = ((word >> (32 - W_NBITS * (j + 1))) & CODE_MASK) - zero;
    sum += w * to_float(x[j]);
  }
  return sum;
}
