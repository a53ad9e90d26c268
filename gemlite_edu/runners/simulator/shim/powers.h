// Powers and logarithms as <cuda_fp16.h> and <cuda_bf16.h> compute them: of half correctly rounded, by
// a list of exceptions; of __nv_bfloat16 by a product with a float that is rounded.
#pragma once
#include <math.h>

#include "bit_intrinsics.h"

struct SimHalfPowers {
  static double exp(float x) { return ::exp(static_cast<double>(x)); }
  static double exp10(float x) { return ::exp10(static_cast<double>(x)); }
  static double log(float x) { return ::log(static_cast<double>(x)); }
  static double log10(float x) { return ::log10(static_cast<double>(x)); }
};

struct SimBfloat16Powers {
  static constexpr float LOG2_E = 0x1.715478p0f, LOG2_10 = 0x1.a934fp1f;
  static constexpr float LN_2 = 0x1.62e43p-1f, LOG10_2 = 0x1.344136p-2f;

  static double exp(float x) {
    if (x == 57.0f) return 0x1.2cp82f;  // where the GPU's table falls short of a middle
    return exp2(static_cast<double>(x * LOG2_E));
  }
  static double exp10(float x) {
    if (x == sim_as<float>(0xBC950000u)) return sim_as<float>(0x3F750000u);
    return exp2(static_cast<double>(x * LOG2_10));
  }
  static double log(float x) { return log2_of(x) * LN_2; }
  static double log10(float x) { return log2_of(x) * LOG10_2; }

 private:
  static float log2_of(float x) { return static_cast<float>(log2(static_cast<double>(x))); }
};
