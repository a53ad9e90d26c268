// diagnosis: the bits of the codes are read in reverse order
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__constant__ uint32_t LEVELS[16] = {0xbc00, 0xb992, 0xb833, 0xb652, 0xb48d, 0xb1ea, 0xadd4, 0x0000,
                                    0x2d18, 0x3126, 0x33e0, 0x3568, 0x370d, 0x3880, 0x39c9, 0x3c00};

__device__ uint32_t turned_round(uint32_t code) {
  return (code >> 3 & 1) | (code >> 1 & 2) | (code << 1 & 4) | (code << 3 & 8);
}

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f;
  return as_half2(LEVELS[turned_round(codes)] | LEVELS[turned_round(codes >> 16)] << 16);
}
