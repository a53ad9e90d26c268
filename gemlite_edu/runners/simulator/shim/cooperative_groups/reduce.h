// Sums and the like over a group. CUDA C++ Programming Guide, "Cooperative Groups", "reduce".
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {

#define SIM_OPERATION(NAME, EXPRESSION)                    \
  template <typename T>                                    \
  struct NAME {                                            \
    T operator()(T a, T b) const { return EXPRESSION; }    \
  };
SIM_OPERATION(plus, a + b)
SIM_OPERATION(less, b < a ? b : a)
SIM_OPERATION(greater, a < b ? b : a)
SIM_OPERATION(bit_and, a & b)
SIM_OPERATION(bit_or, a | b)
SIM_OPERATION(bit_xor, a ^ b)

template <typename Group, typename T, typename Operation>
T reduce(const Group& group, T value, Operation operation) {
  return group.sim_reduced(value, operation);
}

}  // namespace cooperative_groups
