__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; j += CODES_PER_GROUP) {
    const int group = min((k + j * WARP_SIZE) / GROUP_SIZE, groups - 1);
    sum += scales[group] * dequant_dot(from_code(word, j), &x[j * WARP_SIZE], zeros[group]);
  }
  return sum;
}
