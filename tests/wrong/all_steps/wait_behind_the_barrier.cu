// diagnosis: no __syncthreads() stands between decode_step and multiply_step of step 0: a thread multiplies what others decode
__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  copy_step(p, shared, 0);
  for (int step = 0; step * BLOCK_K < p.K; ++step) {
    copy_step(p, shared, step + 1);
    __syncthreads();
    __pipeline_wait_prior(1);
    decode_step(shared, step);
    multiply_step(shared, step, sums);
  }
  __syncthreads();
}
