// diagnosis: must say __device__ before warp_reduce_sum(...)
def warp_reduce_sum(value):
    offset = WARP_SIZE // 2
    while offset > 0:
        value += __shfl_down_sync(FULL_WARP, value, offset)
        offset //= 2
    return value
