// diagnosis: the levels have two digits behind the point
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__constant__ float TABLE[16] = {-1.0f, -0.70f, -0.52f, -0.40f, -0.28f, -0.18f, -0.09f, 0.0f,
                                0.08f, 0.16f,  0.25f,  0.34f,  0.44f,  0.56f,  0.72f,  1.0f};

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f;
  return __floats2half2_rn(TABLE[codes & 15], TABLE[codes >> 16 & 15]);
}
