// diagnosis: the codes stay where they were in their bytes: nothing shifts them down
__device__ uint32_t four_codes(uint32_t word, int i) {
  const uint32_t mask = 0x03030303u << (2 * i);
  return word & mask;
}
