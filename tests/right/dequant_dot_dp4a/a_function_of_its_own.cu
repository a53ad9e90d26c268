// Four int8 values, WARP_SIZE apart, in the bytes of one number; 0 where there is none.
__device__ int gather(const X_T* x, int first) {
  int four = 0;
  for (int i = 0; i < 4; ++i) {
    const int value = first + i < PACK_FACTOR ? x[(first + i) * WARP_SIZE] : 0;
    four |= (value & 255) << 8 * i;
  }
  return four;
}

__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  const int offset = W_NBITS < 8 ? 0 : 128;
  int result = 0;
  for (int first = 0; first < PACK_FACTOR; first += 4) {
    int four_codes = 0;
    for (int i = 0; i < 4 && first + i < PACK_FACTOR; ++i) {
      const int code = (word << (W_NBITS * (first + i))) >> (32 - W_NBITS);
      four_codes |= ((code - offset) & 255) << 8 * i;
    }
    const int four_x = gather(x, first);
    result = __dp4a(four_codes, four_x, result) + (offset - zero) * __dp4a(four_x, 0x01010101, 0);
  }
  return result;
}
