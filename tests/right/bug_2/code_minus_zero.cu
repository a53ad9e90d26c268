__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int group = min((k + j * WARP_SIZE) / GROUP_SIZE, groups - 1);
    const float code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const float weight = scales[group] * (code - zeros[group]);
    sum += weight * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
