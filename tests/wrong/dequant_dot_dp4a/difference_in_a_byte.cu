// diagnosis: code - zero is put in a signed byte, which ends at 127
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int dot = 0;
  for (int first = 0; first < PACK_FACTOR; first += 4) {
    uint32_t four_w = 0, four_x = 0;
    for (int i = 0; i < 4 && first + i < PACK_FACTOR; ++i) {
      const int code = (word >> (32 - W_NBITS * (first + i + 1))) & CODE_MASK;
      four_w |= static_cast<uint32_t>(static_cast<uint8_t>(code - zero)) << (8 * i);
      four_x |= static_cast<uint32_t>(static_cast<uint8_t>(x[(first + i) * WARP_SIZE])) << (8 * i);
    }
    dot = __dp4a(static_cast<int>(four_x), static_cast<int>(four_w), dot);
  }
  return dot;
}
