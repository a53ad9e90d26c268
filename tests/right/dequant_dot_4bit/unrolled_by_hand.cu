__device__ float dequant_dot(uint32_t w, const X_T* x, float z) {
  return ((w >> 28 & 15) - z) * to_float(x[0]) + ((w >> 24 & 15) - z) * to_float(x[32]) +
         ((w >> 20 & 15) - z) * to_float(x[64]) + ((w >> 16 & 15) - z) * to_float(x[96]) +
         ((w >> 12 & 15) - z) * to_float(x[128]) + ((w >> 8 & 15) - z) * to_float(x[160]) +
         ((w >> 4 & 15) - z) * to_float(x[192]) + ((w & 15) - z) * to_float(x[224]);
}
