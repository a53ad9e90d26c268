__global__ void cuda_half(const half* a, const half* b, const half* c, half* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    y[i] = __hfma(a[i], b[i], c[i]);
  }
}
