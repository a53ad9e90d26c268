__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  const int last = ceil_div(p.K, BLOCK_K) - 1;
  copy_step(p, shared, 0);
  if (last > 0) copy_step(p, shared, 1);
  if (last > 0) __pipeline_wait_prior(1);
  else __pipeline_wait_prior(0);
  decode_step(shared, 0);
  __syncthreads();
  for (int step = 0; step < last - 1; ++step) {
    copy_step(p, shared, step + 2);
    __pipeline_wait_prior(1);
    decode_step(shared, step + 1);
    multiply_step(shared, step, sums);
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  if (last > 0) {
    decode_step(shared, last);
    multiply_step(shared, last - 1, sums);
    __syncthreads();
  }
  multiply_step(shared, last, sums);
  __syncthreads();
}
