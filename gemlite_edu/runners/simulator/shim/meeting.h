// Replaces the PTX of kernels/cuda/fast/meeting.cuh.
#pragma once
#include "cuda_runtime.h"

template <int threads>
void meet() { sim_meet(threads); }
