// diagnosis: each group were one whole tile
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int group = min(((k / TILE * WARP_SIZE + k % WARP_SIZE) * PACK_FACTOR + j) / GROUP_SIZE, groups - 1);
    const float code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += scales[group] * (code - zeros[group]) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
