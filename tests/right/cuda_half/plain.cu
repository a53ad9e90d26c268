__global__ void cuda_half(const half* a, const half* b, const half* c, half* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    const float product = __half2float(a[i]) * __half2float(b[i]);
    y[i] = __float2half(product + __half2float(c[i]));
  }
}
