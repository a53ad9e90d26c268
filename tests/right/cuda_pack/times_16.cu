__global__ void cuda_pack(const uint8_t* codes, uint8_t* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    y[i] = 16 * codes[2 * i] + codes[2 * i + 1];
  }
}
