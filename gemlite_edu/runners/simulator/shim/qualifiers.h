// CUDA's words for functions and variables, and what a thread knows of its place.
#pragma once
#include "cooperation.h"

// A kernel stays a function of its own: around it arguments are read, which is no access of its.
#define __global__ __attribute__((noipa))
#define __device__
#define __host__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__  // the checks of local arrays see through calls that are inlined
#define __inline_hint__
// A section of their own, because no pointer to them may be used as one to global memory.
#define __constant__ static const __attribute__((section("sim_constant")))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __align__(n) __attribute__((aligned(n)))
// The runner finds these functions by name. So the compiler must keep them even where it is told that no
// other file calls a function of the text: whole_program.py.
#define SIM_FOR_RUNNER extern "C" __attribute__((externally_visible))
// One block is one thread of the host, its lanes are fibers on it.
// "used": an array that nothing writes must not become a constant.
#define __shared__ __attribute__((used)) thread_local

#define threadIdx sim_here.thread_index
#define blockIdx sim_here.block_index
#define blockDim sim_here.block_size
#define gridDim sim_here.grid_size
extern const int warpSize;  // no constant that an array's size could be: bindings.h has its value

// nvcc knows these names of glibc without an include.
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
