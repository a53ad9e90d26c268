__constant__ float nf4_levels[16] = {
    -1.0f,        -0.69619280f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f,
    -0.09105004f, 0.0f,         0.07958030f,  0.16093020f,  0.24611230f,  0.33791524f,
    0.44070983f,  0.56261700f,  0.72295684f,  1.0f};

__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  const float mine = nf4_levels[threadIdx.x % 16];
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    const int code = (word >> (28 - 4 * j)) & 15;
    sum += __shfl_sync(FULL_WARP, mine, code) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
