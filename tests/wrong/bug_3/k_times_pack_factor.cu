// diagnosis: k is multiplied by PACK_FACTOR, but it counts codes and not words
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  const int group = min(k * PACK_FACTOR / GROUP_SIZE, groups - 1);
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const float code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zeros[group]) * to_float(x[j * WARP_SIZE]);
  }
  return scales[group] * sum;
}
