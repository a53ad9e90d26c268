// CUDA names threadIdx and its like here; the simulator does in <cuda_runtime.h>.
#pragma once
#include "cuda_runtime.h"
