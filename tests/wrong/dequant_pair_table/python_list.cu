// diagnosis: has an array outside its functions, which a GPU cannot read
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

LEVELS = [0xbc00, 0xb992, 0xb833, 0xb652];

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f;
  return as_half2(LEVELS[codes & 15] | LEVELS[codes >> 16 & 15] << 16);
}
