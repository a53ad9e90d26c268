// What CUDA C++ has and the host compiler lacks, in terms of the runner (runner.cpp).
// The simulator includes it before a kernel's text, as nvcc does with its own.
#pragma once
#define SIM_READ_ONLY const
#include <cstdint>
#include "plain_types.h"
// Of g++'s <math.h> most of the time would go to special functions, which CUDA has not.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <math.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <assert.h>
#include <string.h>
#include <time.h>

#include <initializer_list>
#include <limits>
#include <new>
#include <utility>

#include "atomics.h"
#include "bit_intrinsics.h"
#include "cooperation.h"
#include "float_rounding.h"
#include "integer_intrinsics.h"
#include "least_and_most.h"
#include "lone_thread.h"
#include "math_functions.h"
#include "memory_access.h"
#include "number_conversions.h"
#include "promises.h"
#include "qualifiers.h"
#include "simd_intrinsics.h"
#include "vectors.h"
#include "warp_functions.h"
#include "halves.h"
#include "bfloat16s.h"
