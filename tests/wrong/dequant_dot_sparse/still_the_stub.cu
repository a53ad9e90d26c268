// diagnosis: dequant_dot_sparse is not written yet
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  #error YOUR CODE HERE
  return sum;
}
