// diagnosis: the codes are taken for signed ones, -8 to 7
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int low = static_cast<int>(pairs << (28 - 4 * f)) >> 28;
  const int high = static_cast<int>(pairs << (12 - 4 * f)) >> 28;
  return __floats2half2_rn(low, high);
}
