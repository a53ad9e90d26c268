"""A second run in another order shows what depends on the order of atomic operations."""

import torch

from gemlite_edu.runners.simulator.another_order import in_another_order

BEFORE = """
__device__ float d[64];
template <typename F> __device__ float took(float* slot, F v) {
  atomicExch(slot, v);
  return atomicAdd(slot, 0.0f);
}
#define TAKE(slot) atomic##Exch(slot, 0.0f)
struct Slot {
  float* at;
  __device__ void put(float v) { atomicExch(at, v); }
  __device__ float get() const { return atomicExch(at, 0.0f); }
};
typedef unsigned Number;
"""
SUMS = "atomicExch(s, 0.0f); atomicAdd(s, v);"
# Statements that give the float r to each thread; s is a slot of the block, of threads, or of all.
DEPENDENT = {
    "a slot of the block": f"float* s = &b[0]; {SUMS} r = atomicExch(s, 0.0f);",
    "a slot of each lane number": f"float* s = &b[t % 32]; {SUMS} r = atomicExch(s, 0.0f);",
    "a slot of each warp": f"float* s = &b[t / 32]; {SUMS} r = atomicExch(s, 0.0f);",
    "a slot of all": f"float* s = &d[0]; {SUMS} r = atomicExch(s, 0.0f);",
    "a slot of two blocks": "float* s = &d[t % 64]; for (int i = 0; i < 100; ++i) {"
    " atomicExch(s, v + blockIdx.x); r += atomicAdd(s, 0.0f); }",
    "a template": "r = took(&b[t % 32], v);",
    "a macro": "atomicExch(&b[0], v); r = TAKE(&b[0]);",
    "a struct": "Slot s{&b[t % 32]}; s.put(v); r = s.get();",
    "a lambda": "auto put = [&](float* s) { atomicExch(s, v); }; put(b); r = TAKE(b);",
    "a loop": "for (int i = 0; i < 3; ++i) { atomicExch(&b[i], v); r += atomicAdd(&b[i], 0.0f); }",
    "a ticket": "r = atomicAdd(&c[0], 1u) % 2 ? v : -v;",
    "a ticket of the warp": "r = atomicInc(&c[t / 32], 1u) ? v : -v;",
    "a typedef": "Number* k = &c[1]; r = atomicAdd(k, Number(1)) % 32 == t % 32 ? v : 0.0f;",
    "compare and swap": "r = atomicCAS(&c[2], 0u, unsigned(t + 1)) ? v : -v;",
    "a bit": "r = atomicOr(&c[3], 1u << t % 32) >> 16 ? v : 0.0f;",
    "a greatest": "r = atomicMax(&c[4], unsigned(t)) > 40 ? v : 0.0f;",
    "a least": "atomicAdd(&c[5], 100u); r = atomicMin(&c[5], 99u - t);",
    "a continued\nname": "r = atomic\\\nAdd(&c[6], 1u) % 32;",
    "the one of the block": "r = atomicAdd_block(&c[7], 1u) % 32;",
    "a call by a pointer": "unsigned (*f)(unsigned*, unsigned) = atomicExch; f(c + 8, t);"
    " r = f(c + 8, 0);",
    "between two __syncwarp": "float* s = &b[0]; if (t % 32 == 0) atomicExch(s, 0.0f);"
    " __syncwarp(); atomicAdd(s, v); __syncwarp(); r = atomicAdd(s, 0.0f); __syncwarp();",
}
INDEPENDENT = {
    "a slot of its own": f"float* s = &b[t]; {SUMS} r = atomicExch(s, 0.0f);",
    "a sum of a warp": "float* s = &b[t / 32]; if (t % 32 == 0) atomicExch(s, 0.0f); __syncwarp();"
    " atomicAdd(s, v); __syncwarp(); r = atomicAdd(s, 0.0f); __syncwarp();",
    "a sum of the block": "if (t == 0) b[0] = 0; __syncthreads(); atomicAdd(b, v);"
    " __syncthreads(); r = b[0];",
    "a number that nobody uses": "atomicAdd(&c[0], 1u); r = v;",
    "a greatest at the end": "atomicMax(&c[63], unsigned(t)); __syncthreads();"
    " r = atomicMax(&c[63], 0u);",
    "shuffles": "r = v; for (int o = 16; o; o /= 2) r += __shfl_xor_sync(~0u, r, o);",
    "who is there": "r = t % 3 ? __popc(__activemask()) : v;",
}
STATEMENTS = """
__shared__ float b[64];
__shared__ unsigned c[64];
c[t] = 0;
__syncthreads();
const float v = x[t];
float r = 0;
{ %s }
y[t + 64 * blockIdx.x] = r;
"""


def test_what_depends_on_the_order_of_atomics_shows_and_nothing_else_does(inspect):
    every = {**DEPENDENT, **INDEPENDENT}
    cases = (f"case {i}: {{ {STATEMENTS % s} }} break;" for i, s in enumerate(every.values()))
    body, differ = f"switch (n) {{ {' '.join(cases)} }}", set()
    for i, name in enumerate(every):
        with in_another_order() as others:
            report, _ = inspect(body, n=i, before=BEFORE, y=torch.zeros(128), grid=(2, 1))
        assert report.findings == () and len(others) == 1, name
        if not torch.equal(others[0], report.y):
            differ.add(name)
    assert differ == set(DEPENDENT)
