// Which element of its matrix each element x[i] of a lane's fragment is: the one place that says so.
// CUDA leaves it open. It is what nvcc 13.0 makes for sm_90, for 8-bit operands with K = 16, and
// what the PTX ISA documents of mma.m16n8k16; of M = 8 the hardware multiplies the transposes.
#pragma once

struct SimCell { int row, col; };

// A is M x K.
constexpr SimCell sim_cell_of_a(int lane, int i) {
  return {lane / 4 + i / 4 * 8, lane % 4 * 4 + i % 4};
}

// B is K x N.
constexpr SimCell sim_cell_of_b(int lane, int i) {
  return {lane % 4 * 4 + i % 4, lane / 4 + i / 4 * 8};
}

// C is M x N, in tiles of 8 x 8 of which a lane has two neighbours each; the tiles go down first.
constexpr SimCell sim_cell_of_c(int m, int lane, int i) {
  if (m == 8) return {lane % 4 * 2 + i % 2, lane / 4 + i / 2 * 8};
  const int tile = i / 2, tiles_down = m / 8;
  return {lane / 4 + tile % tiles_down * 8, tile / tiles_down * 8 + lane % 4 * 2 + i % 2};
}
