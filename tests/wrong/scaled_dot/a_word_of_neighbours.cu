// diagnosis: the codes of a word are taken to be neighbours in k, so that a word has one group
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  const int first = (k / TILE * WARP_SIZE + k % WARP_SIZE) * PACK_FACTOR;
  const int group = min(first / GROUP_SIZE, groups - 1);
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; j += CODES_PER_GROUP) {
    sum += dequant_dot(from_code(word, j), &x[j * WARP_SIZE], zeros[group]);
  }
  return scales[group] * sum;
}
