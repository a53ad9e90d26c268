// diagnosis: each product is rounded to half precision
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 16; ++j) {
    const half w = __float2half((word >> (30 - 2 * j) & 3) - zero);
    sum += __half2float(__hmul(w, x[j * WARP_SIZE]));
  }
  return sum;
}
