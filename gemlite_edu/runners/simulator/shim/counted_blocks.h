// For operations.py: counts how often each lane enters each basic block. The counts, int[BLOCKS of
// code][blocks of the grid][lanes of whole warps], are the argument before the kernel's own.
#pragma once

#define SIM_NOT_COUNTED __attribute__((no_sanitize_coverage))

static int* sim_counts;

extern "C" SIM_NOT_COUNTED __attribute__((used)) void sim_count_block(int number) {
  if (!sim_counts) return;  // no lane runs yet
  const SimHere& here = sim_here;
  const dim3 &size = here.block_size, &grid = here.grid_size;
  const uint3 &thread = here.thread_index, &block = here.block_index;
  const size_t lanes = (size_t(size.x) * size.y * size.z + 31) / 32 * 32;
  const size_t lane = thread.x + size.x * (thread.y + size_t(size.y) * thread.z);
  const size_t place = size_t(number) * grid.x * grid.y + block.y * size_t(grid.x) + block.x;
  ++sim_counts[place * lanes + lane];
}
