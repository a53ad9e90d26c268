// diagnosis: dequant_dot, line
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  table = [-1.0, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.0910500, 0.0,
           0.0795803, 0.1609302, 0.2461123, 0.3379152, 0.4407098, 0.5626170, 0.7229568, 1.0]
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    sum += table[(word >> (28 - 4 * j)) & 15] * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
