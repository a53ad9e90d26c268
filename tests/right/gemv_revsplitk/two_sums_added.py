# ruff: noqa: F821
import triton.language as tl


def gemv_revsplitk(
    x_ptr,
    W_ptr,
    high_ptr,
    scales_ptr,
    zeros_ptr,
    partial_ptr,
    M,
    N,
    K,
    NBITS: tl.constexpr,
    FIELDS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    FMA: tl.constexpr,
    ATOMIC: tl.constexpr,
    BLOCK_N: tl.constexpr,
    STAGES: tl.constexpr,
):
    TILE: tl.constexpr = FIELDS * DEPTH
    m, chunk = tl.program_id(0) % M, tl.program_id(1)
    n = tl.program_id(0) // M * BLOCK_N + tl.arange(0, BLOCK_N)
    row = n % N
    words_at = row[:, None] * DEPTH + tl.arange(0, DEPTH)[None, :]
    x_ptrs = x_ptr + tl.cast(m, tl.int64) * K + tl.arange(0, DEPTH)
    tile_stride = tl.cast(N, tl.int64) * DEPTH
    tiles = K // TILE
    tiles_of_a_chunk = tl.cdiv(tl.cdiv(tiles, 2), tl.num_programs(1)) * 2
    first = chunk * tiles_of_a_chunk
    last = min(first + tiles_of_a_chunk, tiles)

    acc = tl.zeros((BLOCK_N, DEPTH), tl.float32)
    for tile in tl.range(first, last - 1, 2, num_stages=STAGES):
        at = tile * tile_stride + words_at
        words, high = load_tile(W_ptr, high_ptr, at, NBITS)
        words_2, high_2 = load_tile(W_ptr, high_ptr, at + tile_stride, NBITS)
        if GROUP is None or GROUP % (2 * TILE) == 0:
            group_index = 0 if GROUP is None else tile * TILE // GROUP
            x_1 = x_ptrs + tile * TILE
            nothing = tl.zeros((BLOCK_N, DEPTH), tl.float32)
            no_x = tl.zeros((DEPTH,), tl.float32)
            p_1, s_1 = planes_sum(nothing, no_x, words, high, x_1, 0, FIELDS, NBITS, DEPTH)
            p_2, s_2 = planes_sum(
                nothing, no_x, words_2, high_2, x_1 + TILE, 0, FIELDS, NBITS, DEPTH
            )
            acc += scaled(p_1 + p_2, s_1 + s_2, scales_ptr, zeros_ptr, row, group_index, N, FMA)
        else:
            acc = tile_sum(
                acc, words, high, x_ptrs, scales_ptr, zeros_ptr, row, tile, N,
                NBITS, FIELDS, DEPTH, GROUP, FMA,
            )  # fmt: skip
            acc = tile_sum(
                acc, words_2, high_2, x_ptrs, scales_ptr, zeros_ptr, row, tile + 1, N,
                NBITS, FIELDS, DEPTH, GROUP, FMA,
            )  # fmt: skip
    if first < last and (last - first) % 2 == 1:
        words, high = load_tile(W_ptr, high_ptr, (last - 1) * tile_stride + words_at, NBITS)
        acc = tile_sum(
            acc, words, high, x_ptrs, scales_ptr, zeros_ptr, row, last - 1, N,
            NBITS, FIELDS, DEPTH, GROUP, FMA,
        )  # fmt: skip

    sums = acc.sum(axis=1)
    if ATOMIC:
        tl.atomic_add(partial_ptr + tl.cast(m, tl.int64) * N + n, sums, mask=n < N)
    else:
        tl.store(partial_ptr + (tl.cast(chunk, tl.int64) * M + m) * N + n, sums, mask=n < N)
