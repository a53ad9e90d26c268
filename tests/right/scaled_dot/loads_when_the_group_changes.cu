__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  float sum = 0.0f, scale = 0.0f, zero = 0.0f;
  int before = -1;
  for (int j = 0; j < PACK_FACTOR; ++j, k += WARP_SIZE, word <<= W_NBITS) {
    const int group = min(k / GROUP_SIZE, groups - 1);
    if (group != before) {
      scale = scales[group];
      zero = zeros[group];
      before = group;
    }
    sum += scale * ((word >> (32 - W_NBITS)) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
