__global__ void cuda_field(const uint32_t* words, int* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    const uint32_t word = words[i >> 3];
    y[i] = word >> 4 * (7 - (i & 7)) & 0xF;
  }
}
