// diagnosis: fields 1 and 2 are swapped, as in an order 0 2 1 3
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  constexpr int PLACES[] = {0, 8, 4, 12};
  const half2 read = as_half2(and_or(pairs >> PLACES[f], 0x000F000F, 0x64006400));
  return __hsub2(read, __float2half2_rn(1024.0f));
}
