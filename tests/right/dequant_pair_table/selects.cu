__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ float level(uint32_t code) {
  const float a = code & 1 ? -0.6962f : -1.0f, b = code & 1 ? -0.3949f : -0.5251f;
  const float c = code & 1 ? -0.18477f : -0.28444f, d = code & 1 ? 0.0f : -0.09105f;
  const float e = code & 1 ? 0.16093f : 0.07958f, g = code & 1 ? 0.33792f : 0.24611f;
  const float h = code & 1 ? 0.56262f : 0.44071f, i = code & 1 ? 1.0f : 0.72296f;
  const float ab = code & 2 ? b : a, cd = code & 2 ? d : c, eg = code & 2 ? g : e;
  const float hi = code & 2 ? i : h;
  const float lower = code & 4 ? cd : ab, upper = code & 4 ? hi : eg;
  return code & 8 ? upper : lower;
}

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  return __floats2half2_rn(level(pairs >> 4 * f), level(pairs >> 4 * f >> 16));
}
