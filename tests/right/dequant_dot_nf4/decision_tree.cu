__device__ float nf4(uint32_t c) {
  if (c & 8) {
    if (c & 4) {
      if (c & 2) return c & 1 ? 1.0f : 0.7229568362236023f;
      return c & 1 ? 0.5626170039176941f : 0.44070982933044434f;
    }
    if (c & 2) return c & 1 ? 0.33791524171829224f : 0.24611230194568634f;
    return c & 1 ? 0.16093020141124725f : 0.07958029955625534f;
  }
  if (c & 4) {
    if (c & 2) return c & 1 ? 0.0f : -0.09105003625154495f;
    return c & 1 ? -0.18477343022823334f : -0.28444138169288635f;
  }
  if (c & 2) return c & 1 ? -0.39491748809814453f : -0.5250730514526367f;
  return c & 1 ? -0.6961928009986877f : -1.0f;
}

__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 7; j >= 0; --j) {
    sum = fmaf(nf4(word), to_float(x[j * WARP_SIZE]), sum);
    word >>= 4;
  }
  return sum;
}
