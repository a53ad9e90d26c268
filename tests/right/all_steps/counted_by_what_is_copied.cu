__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  const int num_steps = (p.K + BLOCK_K - 1) / BLOCK_K;
  for (int step = 0; step < num_steps + 2; ++step) {
    copy_step(p, shared, step);
    __pipeline_wait_prior(1);
    const int decoded = step - 1, multiplied = step - 2;
    if (0 <= decoded && decoded < num_steps) decode_step(shared, decoded);
    if (0 <= multiplied) multiply_step(shared, multiplied, sums);
    __syncthreads();
  }
}
