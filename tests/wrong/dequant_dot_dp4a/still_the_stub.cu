// diagnosis: dequant_dot_dp4a is not written yet
__device__ int dequant_dot(uint32_t word, const X_T* x, int zero) {
  int dot = 0, sum_x = 0;
  #error YOUR CODE HERE
  return dot;
}
