__global__ void cuda_pack(const uint8_t* codes, uint8_t* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    y[i] = (codes[2 * i] << 4) + codes[2 * i + 1];
  }
}
