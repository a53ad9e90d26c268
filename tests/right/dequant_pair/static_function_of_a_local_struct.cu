// What the kernel takes off field f again: nothing, as you give the values themselves.
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  struct Half {
    __device__ static uint16_t bits(uint32_t code) {
      return __half_as_ushort(__uint2half_rn(code & 15));
    }
  };
  return as_half2(Half::bits(pairs >> 4 * f) | Half::bits(pairs >> (16 + 4 * f)) << 16);
}
