// A lane's part of a matrix, and where that lies in memory.
#pragma once
#include "cuda_runtime.h"
#include "fragment_table.h"

constexpr int SIM_LANES = 32;  // of a warp

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <typename Use>
struct SimOperand;
template <>
struct SimOperand<matrix_a> {
  static constexpr int count_elements(int m, int, int k) { return m * k / SIM_LANES; }
  static constexpr SimCell cell(int, int lane, int i) { return sim_cell_of_a(lane, i); }
};
template <>
struct SimOperand<matrix_b> {
  static constexpr int count_elements(int, int n, int k) { return n * k / SIM_LANES; }
  static constexpr SimCell cell(int, int lane, int i) { return sim_cell_of_b(lane, i); }
};
template <>
struct SimOperand<accumulator> {
  static constexpr int count_elements(int m, int n, int) { return m * n / SIM_LANES; }
  static constexpr SimCell cell(int m, int lane, int i) { return sim_cell_of_c(m, lane, i); }
};

constexpr bool sim_has_shape(int m, int n, int k) {
  return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
template <typename Use, typename T, typename Layout>
constexpr bool sim_has_type() {
  const bool is_byte = std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;
  const bool has_layout = !std::is_void_v<Layout>;
  return std::is_same_v<Use, accumulator> ? std::is_same_v<T, int> && !has_layout : is_byte && has_layout;
}

template <typename Use, int M, int N, int K, typename T, typename Layout = void>
class alignas(8) fragment {
  static_assert(sim_has_shape(M, N, K) && sim_has_type<Use, T, Layout>(),
                "the simulator has fragments of shape 16x16x16, 32x8x16 and 8x32x16: signed char or "
                "unsigned char with a layout for matrix_a and matrix_b, int for the accumulator");

 public:
  enum { num_elements = SimOperand<Use>::count_elements(M, N, K) };
  using element_type = T;
  T x[num_elements];

  // Elements that nobody fills hold the lowest int, or half of 256, and so are not 0 by chance.
  fragment() {
    for (T& element : x) element = static_cast<T>(1u << (8 * sizeof(T) - 1));
  }
  static constexpr SimCell sim_cell(int lane, int i) { return SimOperand<Use>::cell(M, lane, i); }
};

// A cell in memory: which row or column it lies in, and how far along that.
struct SimSpot {
  int line, along;
  constexpr size_t offset(size_t ldm) const { return line * ldm + along; }
};
template <typename Fragment, bool by_rows>
constexpr SimSpot sim_spot(int lane, int i) {
  const SimCell cell = Fragment::sim_cell(lane, i);
  return by_rows ? SimSpot{cell.row, cell.col} : SimSpot{cell.col, cell.row};
}

// True if every `count` elements of a fragment are adjacent and aligned to their total size.
template <typename Fragment, bool by_rows>
constexpr bool sim_lies_in_pieces(int count) {
  for (int lane = 0; lane < SIM_LANES; ++lane) {
    for (int i = 0; i < Fragment::num_elements; ++i) {
      const SimSpot spot = sim_spot<Fragment, by_rows>(lane, i);
      const SimSpot first = sim_spot<Fragment, by_rows>(lane, i / count * count);
      const bool is_neighbour = spot.line == first.line && spot.along == first.along + i % count;
      if (!is_neighbour || first.along % count) return false;
    }
  }
  return true;
}

// Elements that one access moves.
template <typename Fragment, bool by_rows>
constexpr int sim_piece() {
  int count = 16 / sizeof(typename Fragment::element_type);
  while (count > Fragment::num_elements || !sim_lies_in_pieces<Fragment, by_rows>(count)) count /= 2;
  return count;
}

}  // namespace wmma
}  // namespace nvcuda
