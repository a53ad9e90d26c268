__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const half levels[16] = {-1.0f, -0.6961928f, -0.52507305f, -0.3949175f, -0.28444138f, -0.18477343f,
                           -0.09105004f, 0.0f, 0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f,
                           0.44070983f, 0.562617f, 0.72295684f, 1.0f};
  return __halves2half2(levels[pairs >> 4 * f & 15], levels[pairs >> (16 + 4 * f) & 15]);
}
