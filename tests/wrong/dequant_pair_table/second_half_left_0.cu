// diagnosis: nothing is put into the second half
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__constant__ uint32_t LEVELS[16] = {0xbc00, 0xb992, 0xb833, 0xb652, 0xb48d, 0xb1ea, 0xadd4, 0x0000,
                                    0x2d18, 0x3126, 0x33e0, 0x3568, 0x370d, 0x3880, 0x39c9, 0x3c00};

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  return as_half2(LEVELS[pairs >> 4 * f & 15]);
}
