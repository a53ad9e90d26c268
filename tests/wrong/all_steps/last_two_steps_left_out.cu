// diagnosis: step 3 is never multiplied, nor 1 other
__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  copy_step(p, shared, 0);
  copy_step(p, shared, 1);
  __pipeline_wait_prior(1);
  decode_step(shared, 0);
  __syncthreads();
  const int num_steps = ceil_div(p.K, BLOCK_K);
  for (int step = 2; step < num_steps; ++step) {
    copy_step(p, shared, step);
    __pipeline_wait_prior(1);
    decode_step(shared, step - 1);
    multiply_step(shared, step - 2, sums);
    __syncthreads();
  }
}
