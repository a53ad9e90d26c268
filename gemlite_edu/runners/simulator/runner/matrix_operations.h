// Matrix operations of a whole warp: agree on one matrix in memory, or multiply two fragments.
#pragma once
#include "../shim/fragment_table.h"
#include "lanes.h"

constexpr int PRODUCT_K = 16;
constexpr size_t MATRIX_ALIGNMENT = 32;  // bytes; CUDA C++ Programming Guide, "Warp Matrix Functions"
constexpr size_t LDM_ALIGNMENT = 16;

inline bool is_of_whole_warp(WarpOperation operation) {
  return operation >= WarpOperation::LOAD_MATRIX;
}

[[noreturn]] inline void report_matrix(const char* what, const Lane& lane, size_t number, int thread) {
  report("matrix %s %s %zu %u %u %d", what, name_of(lane.operation), number,
         sim_here.block_index.x, sim_here.block_index.y, thread);
}

inline void check_alike(const Lane* warp, int first_lane) {
  const auto& expected = *static_cast<const SimMatrix*>(warp[0].matrices);
  for (int i = 1; i < WARP_SIZE; ++i) {
    const auto& other = *static_cast<const SimMatrix*>(warp[i].matrices);
    if (other.address != expected.address) report_matrix("address", warp[i], 0, first_lane + i);
    if (other.ldm != expected.ldm) report_matrix("ldm", warp[i], other.ldm, first_lane + i);
    if (other.by_rows != expected.by_rows) report_matrix("layout", warp[i], 0, first_lane + i);
  }
}

inline void check_aligned(const Lane& lane, int thread) {
  const auto& matrix = *static_cast<const SimMatrix*>(lane.matrices);
  const size_t beyond = reinterpret_cast<uintptr_t>(matrix.address) % MATRIX_ALIGNMENT;
  if (beyond) report_matrix("misaligned", lane, beyond, thread);
  const size_t apart = size_t(matrix.ldm) * matrix.element_bytes;
  if (apart % LDM_ALIGNMENT) report_matrix("ldmbytes", lane, matrix.ldm, thread);
}

template <typename T, int M, int N>
void multiply(const Lane* warp) {
  int16_t a[M][PRODUCT_K], b[N][PRODUCT_K];  // b by columns
  const auto own = [&](int lane) { return *static_cast<const SimProduct*>(warp[lane].matrices); };
  for (int lane = 0; lane < WARP_SIZE; ++lane) {
    const SimProduct product = own(lane);
    for (int i = 0; i < M * PRODUCT_K / WARP_SIZE; ++i) {
      const SimCell cell = sim_cell_of_a(lane, i);
      a[cell.row][cell.col] = static_cast<const T*>(product.a)[i];
    }
    for (int i = 0; i < PRODUCT_K * N / WARP_SIZE; ++i) {
      const SimCell cell = sim_cell_of_b(lane, i);
      b[cell.col][cell.row] = static_cast<const T*>(product.b)[i];
    }
  }
  for (int lane = 0; lane < WARP_SIZE; ++lane) {
    const SimProduct product = own(lane);
    for (int i = 0; i < M * N / WARP_SIZE; ++i) {
      const SimCell cell = sim_cell_of_c(M, lane, i);
      int sum = 0;
      for (int k = 0; k < PRODUCT_K; ++k) sum += a[cell.row][k] * b[cell.col][k];
      const unsigned wrapped = static_cast<unsigned>(product.c[i]) + static_cast<unsigned>(sum);
      product.d[i] = static_cast<int>(wrapped);
    }
  }
}

template <typename T>
void multiply_by_shape(const Lane* warp, int m) {
  if (m == 16) multiply<T, 16, 16>(warp);
  else if (m == 32) multiply<T, 32, 8>(warp);
  else multiply<T, 8, 32>(warp);
}

// Called when all lanes of a warp have reached their matrix operation, before any lane continues.
inline void perform_for_warp(const Lane* warp, int first_lane) {
  if (warp[0].operation == WarpOperation::MULTIPLY) {
    const auto& product = *static_cast<const SimProduct*>(warp[0].matrices);
    if (product.is_signed) multiply_by_shape<signed char>(warp, product.m);
    else multiply_by_shape<unsigned char>(warp, product.m);
  } else {
    check_alike(warp, first_lane);
    check_aligned(warp[0], first_lane);
  }
}
