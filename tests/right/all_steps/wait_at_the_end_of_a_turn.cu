__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  copy_step(p, shared, 0);
  copy_step(p, shared, 1);
  __pipeline_wait_prior(1);
  decode_step(shared, 0);
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int step = 0; step * BLOCK_K < p.K; ++step) {
    copy_step(p, shared, step + 2);
    if ((step + 1) * BLOCK_K < p.K) decode_step(shared, step + 1);
    multiply_step(shared, step, sums);
    __pipeline_wait_prior(0);
    __syncthreads();
  }
}
