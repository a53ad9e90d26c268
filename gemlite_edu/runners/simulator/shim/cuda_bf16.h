#pragma once
#include "cuda_runtime.h"

using namespace sim_bf16;
