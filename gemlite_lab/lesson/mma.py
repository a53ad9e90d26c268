"""`MMA`: the header that gives small kernels one tensor-core instruction."""

from gemlite_edu.kernels.sources import expand_header

_FUNCTIONS = """#line 1 "mma.cuh"
// c += a b of a whole warp, from the registers of its lanes, by one mma.sync.m16n8k16.
__device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiply_add(c, as_half2(a[0]), as_half2(a[1]), as_half2(a[2]), as_half2(a[3]), b[0], b[1]);
}

// The halves p[0] and p[1] as one register; p[0] is the lower one. A macro: faults name the line
// that uses it.
#define pair_at(p) (*reinterpret_cast<const uint32_t*>(static_cast<const half*>(p)))
"""
MMA = expand_header("tensor_core.cuh") + _FUNCTIONS
