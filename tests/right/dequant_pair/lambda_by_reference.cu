__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const auto code = [&](int upper) {
    const int at = 16 * upper + 4 * f;
    return static_cast<float>(pairs >> at & 15);
  };
  return __floats2half2_rn(code(0), code(1));
}
