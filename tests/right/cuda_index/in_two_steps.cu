__global__ void cuda_index(const float* x, float* y, int N) {
  int i = blockIdx.x;
  i = i * blockDim.x;
  i += threadIdx.x;
  y[i] = 2.0f * x[i];
}
