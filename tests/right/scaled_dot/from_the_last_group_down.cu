__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  float sum = 0.0f;
  for (int j = PACK_FACTOR - CODES_PER_GROUP; j >= 0; j -= CODES_PER_GROUP) {
    const int group = ((k + j * WARP_SIZE) / GROUP_SIZE) % groups;  // beyond K any group will do
    sum += scales[group] * dequant_dot(word << (W_NBITS * j), x + j * WARP_SIZE, zeros[group]);
  }
  return sum;
}
