// diagnosis: the levels are those of bfloat16, the upper half of a float's bits
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__constant__ uint32_t LEVELS[16] = {0xbf80, 0xbf32, 0xbf06, 0xbeca, 0xbe92, 0xbe3d, 0xbdba, 0x0000,
                                    0x3da3, 0x3e25, 0x3e7c, 0x3ead, 0x3ee2, 0x3f10, 0x3f39, 0x3f80};

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f;
  return as_half2(LEVELS[codes & 15] | LEVELS[codes >> 16 & 15] << 16);
}
