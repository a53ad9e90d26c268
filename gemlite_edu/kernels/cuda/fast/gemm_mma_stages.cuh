// The part of gemm_mma.cuh that brings a step to shared memory by asynchronous copies of 16 bytes, and
// makes of its x what the product needs. Each thread prepares the chunks of x that it brought, so it
// need not wait for the others before.
// In scope: ROWS, STEP, PARTS, STEPS_PER_GROUP, BLOCK_N, THREADS, words_of_rows.cuh, gemv_fast_x.cuh.
#pragma once

constexpr int CHUNKS = STEP / CHUNK;  // of a row of x in a step
static_assert(THREADS % CHUNKS == 0, "the chunks of a thread are all at the same k of a step");

struct __align__(128) Stage {
  uint4 x[PLANES * ROWS * 2];        // where x_place says
  uint4 words[REGISTERS * BLOCK_N];  // as in W_packed: of two halves, of the next two, of the last
  XPart x_parts[PARTS][ROWS];
  SCALE_T scales[PARTS][BLOCK_N];
  ZERO_T zeros[PARTS][BLOCK_N];
};

// What a block reads: M rows of x from its first on, and rows of W from first_n on.
struct Source {
  const X_T* x;
  const Words* W;
  const SCALE_T* scales;
  const ZERO_T* zeros;
  int M, N, K, first_n;
};

// Calls visit(m, chunk, vector) for every chunk of x that this thread brings, all lanes of a warp at
// once; vector: where it is in Stage::x.
template <typename Visit>
__device__ inline void for_chunks_of_step(Visit visit) {
  const int chunk = threadIdx.x % CHUNKS;
  #pragma unroll
  for (int m = threadIdx.x / CHUNKS; m < ROWS; m += THREADS / CHUNKS) {
    visit(m, chunk, x_place(chunk / 2, m) * 2 + chunk % 2);
  }
}

// `vectors` of 16 bytes of each row of W, which lie together; zeros for rows that W has not.
template <int vectors>
__device__ inline void fetch_rows(const uint4* from, int rows, uint4* to) {
  #pragma unroll
  for (int i = threadIdx.x; i < BLOCK_N * vectors; i += THREADS) {
    const bool is_there = i < rows * vectors;
    copy_16_async(&to[i], &from[is_there ? i : 0], is_there);
  }
}

// Scales or zeros of a step, four bytes at once where rows of N begin at such; of rows that W has not,
// its last ones.
template <typename T>
__device__ inline void fetch_factors(const T* factors, const Source& from, int step,
                                     T (&to)[PARTS][BLOCK_N]) {
  constexpr int TOGETHER = 4 / sizeof(T), PIECES = BLOCK_N / TOGETHER;
  for (int i = threadIdx.x; i < PARTS * PIECES; i += THREADS) {
    const int part = i / PIECES, row = i % PIECES * TOGETHER, n = from.first_n + row;
    const int group = PARTS == 1 ? step / STEPS_PER_GROUP : step * PARTS + part;
    const T* of_group = &factors[static_cast<size_t>(group) * from.N];
    if (from.N % TOGETHER == 0) {
      __pipeline_memcpy_async(&to[part][row], &of_group[min(n, from.N - TOGETHER)], 4);
      continue;
    }
    #pragma unroll
    for (int j = 0; j < TOGETHER; ++j) to[part][row + j] = of_group[min(n + j, from.N - 1)];
  }
}

// Sends a step on its way.
__device__ inline void fetch(const Source& from, int step, Stage& to) {
  const size_t first = static_cast<size_t>(step) * REGISTERS * from.N;
  const int rows = from.N - from.first_n;
  #pragma unroll
  for (int i = 0; i < FOURS; ++i) {
    const uint4* of_halves = &from.W[first + (static_cast<size_t>(i) * from.N + from.first_n) * 4];
    fetch_rows<4>(of_halves, rows, &to.words[i * BLOCK_N * 4]);
  }
  if (REGISTERS % 4 == 2) {
    const size_t last = first + static_cast<size_t>(FOURS) * from.N * 4 + from.first_n * 2;
    fetch_rows<2>(&from.W[last], rows, &to.words[FOURS * BLOCK_N * 4]);
  }
  for_chunks_of_step([&](int m, int chunk, int vector) {
    const int k = step * STEP + chunk * CHUNK;
    const bool is_there = m < from.M && k < from.K;
    const size_t at = is_there ? static_cast<size_t>(m) * from.K + k : 0;
    copy_16_async(&to.x[vector], &from.x[at], is_there);
  });
  if (HAS_SCALES) fetch_factors(from.scales, from, step, to.scales);
  if (HAS_ZEROS) fetch_factors(from.zeros, from, step, to.zeros);
}

// Makes halves of this thread's x where it is none, and adds it up over parts.
__device__ inline void prepare_step(Stage& at) {
  const float offset = offset_of(field_of(threadIdx.x % CHUNKS / 2));
  for_chunks_of_step([&](int m, int chunk, int vector) {
    const uint4 brought = at.x[vector];
    uint32_t pairs[] = {brought.x, brought.y, brought.z, brought.w};
    const float power = IS_HALF ? 1.0f : to_halves(pairs);
    if (!IS_HALF) at.x[vector] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    float sum = 0.0f, offsets = 0.0f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = __half22float2(as_half2(pairs[i]));
      sum += pair.x + pair.y;
    }
    if (OFFSETS && !(IS_HALF && ONE_OFFSET)) offsets = sum_of_part(sum * offset);
    sum = sum_of_part(sum);
    const int part = chunk * CHUNK / PART;
    if (chunk * CHUNK % PART == 0) set_part(at.x_parts[part][m], sum, offsets, power);
  });
}
