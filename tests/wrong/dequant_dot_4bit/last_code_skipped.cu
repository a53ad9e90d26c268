// diagnosis: the last code of each word is skipped
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int shift = 28; shift > 0; shift -= 4) {
    sum += ((word >> shift & 15) - zero) * to_float(*x);
    x += WARP_SIZE;
  }
  return sum;
}
