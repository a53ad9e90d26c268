// char4 has a byte for each product; the x of the last four go in from the end.
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  const int offset = W_NBITS == 8 ? 128 : 0;
  int sum = 0;
  for (int first = PACK_FACTOR - 4; first > -4; first -= 4) {
    int four_x[4] = {}, four_codes[4] = {};
    for (int i = max(0, -first); i < 4; ++i) {
      four_x[i] = x[(first + i) * WARP_SIZE];
      four_codes[i] = static_cast<int>((word >> (32 - W_NBITS * (first + i + 1))) & CODE_MASK) - offset;
    }
    const char4 xs = make_char4(four_x[0], four_x[1], four_x[2], four_x[3]);
    const char4 codes = make_char4(four_codes[0], four_codes[1], four_codes[2], four_codes[3]);
    sum = __dp4a(xs, codes, sum) + (offset - zero) * __dp4a(xs, make_char4(1, 1, 1, 1), 0);
  }
  return sum;
}
