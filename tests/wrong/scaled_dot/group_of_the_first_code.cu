// diagnosis: every code of a word takes the group of its first one
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  const int group = min(k / GROUP_SIZE, groups - 1);
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; j += CODES_PER_GROUP) {
    sum += dequant_dot(from_code(word, j), &x[j * WARP_SIZE], zeros[group]);
  }
  return scales[group] * sum;
}
