// diagnosis: the number of the word in its row is divided by GROUP_SIZE, which counts codes
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  const int word_in_row = k / TILE * WARP_SIZE + k % WARP_SIZE;
  const int group = min(word_in_row / GROUP_SIZE, groups - 1);
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const float code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zeros[group]) * to_float(x[j * WARP_SIZE]);
  }
  return scales[group] * sum;
}
