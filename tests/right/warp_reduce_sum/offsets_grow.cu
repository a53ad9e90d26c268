__device__ float warp_reduce_sum(float mine) {
  int distance = 1;
  while (distance <= 16) {
    const float theirs = __shfl_down_sync(0xFFFFFFFF, mine, distance);
    mine = theirs + mine;
    distance += distance;
  }
  return mine;
}
