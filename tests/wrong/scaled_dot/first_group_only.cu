// diagnosis: only the first group of each word is used
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  const int group = min(k / GROUP_SIZE, groups - 1);
  return scales[group] * dequant_dot(word, x, zeros[group]);
}
