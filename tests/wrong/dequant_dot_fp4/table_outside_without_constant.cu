// diagnosis: has an array outside its functions
const float values[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};

__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < 8; ++j) {
    uint32_t code = (word >> (28 - 4 * j)) & 15;
    float value = values[code & 7];
    sum += (code & 8 ? -value : value) * to_float(x[j * 32]);
  }
  return sum;
}
