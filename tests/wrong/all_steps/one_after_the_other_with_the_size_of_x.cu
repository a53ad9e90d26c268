// diagnosis: comes before copy_step of step 2
__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  static_assert(sizeof(shared.x) > 0, "x is there");
  for (int step = 0; step * BLOCK_K < p.K; ++step) {
    copy_step(p, shared, step);
    __pipeline_wait_prior(0);
    decode_step(shared, step);
    __syncthreads();
    multiply_step(shared, step, sums);
    __syncthreads();
  }
}
