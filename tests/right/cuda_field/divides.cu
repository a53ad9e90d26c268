__global__ void cuda_field(const uint32_t* words, int* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    uint32_t word = words[i / 8];
    for (int j = i % 8; j < 7; ++j) word /= 16;
    y[i] = word % 16;
  }
}
