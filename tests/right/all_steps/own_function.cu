__device__ bool has(const Problem& p, int step) { return 0 <= step && step * BLOCK_K < p.K; }

__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  const auto turn = [&](int step) {
    copy_step(p, shared, step + 2);
    __pipeline_wait_prior(1);
    if (has(p, step + 1)) decode_step(shared, step + 1);
    if (has(p, step)) multiply_step(shared, step, sums);
    __syncthreads();
  };
  copy_step(p, shared, 0);
  for (int step = -1; step < 0 || has(p, step); ++step) turn(step);
}
