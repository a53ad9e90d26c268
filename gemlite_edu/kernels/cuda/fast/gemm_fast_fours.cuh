// The part of gemm_fast_tile.cuh in which each of SPLITS blocks finishes a share of the outputs: the others
// write their sums of that share to its shared memory. That is slow within a cluster, so a lane writes
// 16 bytes at once.
#pragma once

constexpr int SHARE = BLOCK_N / SPLITS, GIVERS = SPLITS * WARPS_K;
static_assert(WARPS_N % SPLITS == 0, "the outputs of a warp are finished by one block");

// Neighbours of a row of y that a worker finishes: four, or two where four would leave workers idle.
constexpr int WIDTH = SHARE * ROWS >= 16 * WORKER_THREADS ? 4 : 2, PLACES = SHARE / WIDTH;
constexpr int AT_ONCE = SPLITS > 1 ? 1 : 2;  // turns of a loop, unrolled: a cluster has loads enough

// Where the room (GIVERS, SHARE / 2, ROWS / 16, 8) has four sums of a lane: of an output, and of rows
// 16 i + 2 t, + 1, + 8 and + 9 of x. The XOR permutes the eight fours of a line by output: so eight lanes
// reach all banks, be it with every t of two outputs, or with one t of outputs WIDTH apart. (Only where
// four blocks share out 192 outputs do some have two t, and two of them meet in a bank.)
__device__ inline int four_at(int giver, int output, int i, int t) {
  const int eight = (giver * (SHARE / 2) + output / 2) * (ROWS / 16) + i;
  return eight * 8 + ((output % 2 * 4 + t) ^ output / WIDTH % 8);
}

__device__ inline void hand_out(float4* room, const Totals& totals, Worker own) {
  if (SPLITS > 1) room = in_block(room, own.warp_n / SHARE);
  const int giver = blockIdx.x % SPLITS * WARPS_K + own.group, t = threadIdx.x % 4;
  #pragma unroll
  for (int i = 0; i < ROWS / 16; ++i) {
    #pragma unroll
    for (int j = 0; j < TILES * 2; ++j) {
      const float* first = &totals[j / 2][i * 2][j % 2 * 2];
      const float* second = &totals[j / 2][i * 2 + 1][j % 2 * 2];
      room[four_at(giver, row_of(own.warp_n % SHARE, j), i, t)] =
          make_float4(first[0], first[1], second[0], second[1]);
    }
  }
}

// Workers finish the block's share of a tile.
__device__ inline void finish_share(const float4* room, const Part& part, const Output& to) {
  const int output = threadIdx.x % PLACES * WIDTH;
  const int n = part.first_n + blockIdx.x % SPLITS * SHARE + output;
  if (n >= to.N) return;
  const Columns<WIDTH> columns(to, n);
  #pragma unroll AT_ONCE
  for (int four = threadIdx.x / PLACES; four < ROWS / 4; four += WORKER_THREADS / PLACES) {
    const int i = four / 4, t = four % 4, m = part.row_block * ROWS + i * 16 + t * 2;
    float sums[4][WIDTH] = {};
    #pragma unroll
    for (int giver = 0; giver < GIVERS; ++giver) {
      #pragma unroll
      for (int j = 0; j < WIDTH; ++j) {
        const float4 given = room[four_at(giver, output + j, i, t)];
        sums[0][j] += given.x, sums[1][j] += given.y, sums[2][j] += given.z, sums[3][j] += given.w;
      }
    }
    #pragma unroll
    for (int row = 0; row < 4; ++row) {
      const int own_m = m + row / 2 * 8 + row % 2;
      if (own_m < to.M) columns.write(sums[row], own_m);
    }
  }
}
