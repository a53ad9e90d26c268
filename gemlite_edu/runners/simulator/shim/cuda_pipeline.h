// Of CUDA's <cuda_pipeline.h> the primitives alone; there are no objects of class pipeline here.
#pragma once
#include "cuda_pipeline_primitives.h"
