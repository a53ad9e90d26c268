// diagnosis: the products and their sum are held in half precision
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  half sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const half w = __float2half(code - zero);
    sum = __hadd(sum, __hmul(w, x[j * WARP_SIZE]));
  }
  return __half2float(sum);
}
