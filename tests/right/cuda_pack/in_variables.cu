__global__ void cuda_pack(const uint8_t* codes, uint8_t* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    const int first = codes[i * 2], second = codes[i * 2 + 1];
    y[i] = second | (first << 4);
  }
}
