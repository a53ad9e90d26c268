__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int group = (k + j * WARP_SIZE) / GROUP_SIZE;
    if (group >= groups) continue;  // beyond K, where x is 0
    const uint32_t code = word >> (32 - W_NBITS - W_NBITS * j) & CODE_MASK;
    sum += (code * scales[group] - zeros[group] * scales[group]) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
