__global__ void cuda_field(const uint32_t* words, int* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    y[i] = words[i / 8] << (4 * (i % 8)) >> 28;
  }
}
