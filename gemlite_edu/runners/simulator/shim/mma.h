// WMMA: matrix products of a whole warp on fragments of 8-bit integers, as CUDA's <mma.h> has them.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "fragments.h"

namespace nvcuda {
namespace wmma {

// CUDA C++ Programming Guide, "Warp Matrix Functions": sums wrap around where they leave int32.
template <int M, int N, int K, typename T, typename LayoutA, typename LayoutB>
__forceinline__ void mma_sync(fragment<accumulator, M, N, K, int>& d,
                              const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                              const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                              const fragment<accumulator, M, N, K, int>& c) {
  const SimProduct own = {M, N, std::is_signed_v<T>, a.x, b.x, c.x, d.x};
  sim_multiply(&own);
}

template <typename Use, int M, int N, int K, typename T, typename Layout, typename Value>
__forceinline__ void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const Value& value) {
  for (T& element : f.x) element = static_cast<T>(value);
}

template <bool by_rows, typename Fragment, typename T>
__forceinline__ void sim_load(Fragment& f, const T* matrix, unsigned ldm) {
  constexpr int piece = sim_piece<Fragment, by_rows>();
  using Whole = typename SimWhole<piece * sizeof(T)>::type;
  const SimMatrix own = {matrix, ldm, sizeof(T), by_rows};
  sim_meet_to_load(&own);
  for (int i = 0; i < f.num_elements; i += piece) {
    const SimSpot spot = sim_spot<Fragment, by_rows>(sim_lane(), i);
    const Whole value = *reinterpret_cast<const Whole*>(matrix + spot.offset(ldm));
    __builtin_memcpy(&f.x[i], &value, sizeof value);
  }
}
template <typename Use, int M, int N, int K, typename T, typename Layout>
__forceinline__ void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const T* matrix,
                                      unsigned ldm) {
  static_assert(!std::is_void_v<Layout>,
                "load_matrix_sync of an accumulator takes wmma::mem_row_major or wmma::mem_col_major");
  sim_load<std::is_same_v<Layout, row_major>>(f, matrix, ldm);
}
template <int M, int N, int K>
__forceinline__ void load_matrix_sync(fragment<accumulator, M, N, K, int>& f, const int* matrix,
                                      unsigned ldm, layout_t layout) {
  if (layout == mem_row_major) sim_load<true>(f, matrix, ldm);
  else sim_load<false>(f, matrix, ldm);
}

template <bool by_rows, typename Fragment, typename T>
__forceinline__ void sim_store(T* matrix, const Fragment& f, unsigned ldm) {
  constexpr int piece = sim_piece<Fragment, by_rows>();
  using Whole = typename SimWhole<piece * sizeof(T)>::type;
  const SimMatrix own = {matrix, ldm, sizeof(T), by_rows};
  sim_meet_to_store(&own);
  for (int i = 0; i < f.num_elements; i += piece) {
    const SimSpot spot = sim_spot<Fragment, by_rows>(sim_lane(), i);
    Whole value;
    __builtin_memcpy(&value, &f.x[i], sizeof value);
    *reinterpret_cast<Whole*>(matrix + spot.offset(ldm)) = value;
  }
}
template <int M, int N, int K>
__forceinline__ void store_matrix_sync(int* matrix, const fragment<accumulator, M, N, K, int>& f,
                                       unsigned ldm, layout_t layout) {
  if (layout == mem_row_major) sim_store<true>(matrix, f, ldm);
  else sim_store<false>(matrix, f, ldm);
}

}  // namespace wmma
}  // namespace nvcuda
