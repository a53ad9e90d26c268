// diagnosis: the levels are kept in integers, which cuts off their fractions
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__constant__ int TABLE[16] = {(int)-1.0f,  (int)-0.6962f, (int)-0.5251f, (int)-0.3949f,
                              (int)-0.2844f, (int)-0.1848f, (int)-0.0911f, 0,
                              (int)0.0796f, (int)0.1609f, (int)0.2461f, (int)0.3379f,
                              (int)0.4407f, (int)0.5626f, (int)0.7230f, 1};

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f;
  return __floats2half2_rn(TABLE[codes & 15], TABLE[codes >> 16 & 15]);
}
