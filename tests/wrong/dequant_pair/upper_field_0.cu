// diagnosis: the code of the upper half is always its field 0: only the lower half is shifted down
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  return __floats2half2_rn(pairs >> 4 * f & 15, pairs >> 16 & 15);
}
