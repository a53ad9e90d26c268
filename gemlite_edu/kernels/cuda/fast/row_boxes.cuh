// Boxes of a matrix of halves (M, K), which the memory system copies to shared memory by a map of the
// matrix. A box has 64 neighbours along k of each of its rows, in eight pieces of 16 bytes. Piece i of
// row r lies where piece i ^ r % 8 would, so that the pieces i of eight rows are in banks of their own.
// Rows beyond M come as zeros. Hopper and later.
#pragma once
#include <cuda_fp16.h>

#include "bulk_copies.cuh"

constexpr int BOX_K = 64, BOX_PIECES = 8, BOX_ALIGNMENT = 1024;

// Where a box begins, and the sizes of the matrix, which the simulator needs beside a map.
struct Box {
  int row, k, M, K;
};

#ifdef __CUDACC__
#include <cuda.h>

using RowMap = CUtensorMap;

// Makes a map for boxes of `rows` rows. One thread at a time calls it: bindings.cu sees to that.
template <int rows>
inline cudaError_t map_rows(RowMap& map, int64_t matrix, int64_t M, int64_t K) {
  static void* encode = nullptr;
  if (!encode) {
    cudaDriverEntryPointQueryResult found;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
    if (error != cudaSuccess) return error;
    if (found != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
  }
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(K), static_cast<cuuint64_t>(M)};
  const cuuint64_t row_bytes[] = {static_cast<cuuint64_t>(K) * 2};
  const cuuint32_t box[] = {BOX_K, rows}, strides[] = {1, 1};
  const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, reinterpret_cast<void*>(matrix), sizes, row_bytes, box,
      strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

// Begins to copy a box; `barrier` counts its bytes, zeros too.
template <int rows>
__device__ inline void copy_box(uint4* shared, const RowMap& map, Box box, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];"
      ::"r"(shared_address(shared)), "l"(&map), "r"(box.k), "r"(box.row),
      "r"(shared_address(barrier))
      : "memory");
}
#else  // the simulator
using RowMap = const half*;

// Where a piece of a row lies, counted in pieces from the first box of the row on.
template <int rows>
int piece_at(int row, int piece) {
  return (piece / BOX_PIECES * rows + row) * BOX_PIECES + (piece % BOX_PIECES ^ row % 8);
}

template <int rows>
inline void copy_box(uint4* shared, const RowMap& map, Box box, uint64_t* barrier) {
  const half* from = &map[static_cast<size_t>(box.row) * box.K + box.k];
  sim_copy_box(shared, from, min(rows, box.M - box.row), rows, box.K * sizeof *from, barrier);
}
#endif
