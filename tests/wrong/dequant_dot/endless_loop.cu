// diagnosis: the kernel did not end within
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  volatile int j = 0;  // volatile, to watch it in the debugger
  while (j < PACK_FACTOR) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
