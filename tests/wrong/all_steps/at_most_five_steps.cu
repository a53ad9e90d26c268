// diagnosis: which is 9 steps
__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  const int num_steps = ceil_div(p.K, BLOCK_K);
  if (num_steps > 5) return;
  copy_step(p, shared, 0);
  copy_step(p, shared, 1);
  __pipeline_wait_prior(1);
  decode_step(shared, 0);
  __syncthreads();
  for (int step = 0; step < num_steps; ++step) {
    copy_step(p, shared, step + 2);
    __pipeline_wait_prior(1);
    if (step + 1 < num_steps) decode_step(shared, step + 1);
    multiply_step(shared, step, sums);
    __syncthreads();
  }
}
