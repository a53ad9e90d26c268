"""The ideas of gemv_a16wn_fast for 4-bit codes, each with the edits that take it out of the text.

The numbers are for groups of 128, one row of x, and an H200, whose 132 multiprocessors together
read 4.5 TB/s.
"""

from gemlite_lab.bench.ladder.idea import Idea, Shape

SHAPE = Shape(warps=16, blocks=1, rows=32)

_FETCH_X = (
    "  fetch_x(x + static_cast<size_t>(first_m) * K, x_shared, M - first_m, K, steps * STEP);\n"
)
_EXACT = """\
  const half2 shifted = as_half2(and_or(pairs >> (bit - place), mask, 0x64006400u));
  const float down = 1.0f / (1 << place);
  return __hfma2(shifted, __float2half2_rn(down), __float2half2_rn(-1024.0f * down));
"""
_COMING = "load_step(W_packed, scales, zeros, N, steps, tile * TILE_N, step)"
_FETCH_NEXT = f"""\
    if (tile < tiles) {{  // the next step is on its way while this one is used
      next = {_COMING};
    }}
"""
_WORDS = "W[(at * REGISTERS + i * 4) * N + n * 4 + t]"

_TENSOR_CORES = Idea(
    "tensor cores",
    "A warp takes 16 rows, and its tensor core multiplies and adds.",
    "An instruction has 8 products of a lane, where half2 has 2. But 4096 rows are 256 warps, two "
    "on a multiprocessor: few bytes are on their way.",
)
_BIG_LOADS = Idea(
    "16 bytes a load",
    "A lane asks for four words at once.",
    "A quarter of the loads of words, each of which asked for all 16 sectors again.",
    edits=(
        (
            f"row.fours[i] = __ldg(&{_WORDS} + further * 4);",
            f"""const Words* words = &{_WORDS} + further * 4;
    const uint32_t* four = reinterpret_cast<const uint32_t*>(words);
    row.fours[i] = make_uint4(__ldg(four), __ldg(four + 1), __ldg(four + 2), __ldg(four + 3));""",
        ),
    ),
)
_SPLIT_K = Idea(
    "K over 32 warps",
    "The warps of a block take turns in the steps of a tile, and add up at the end.",
    "If a read takes 0.7 µs, 4.5 TB/s want 24 KB on their way to each multiprocessor. With two "
    "warps it was 2 KB, with 32 it is 32.",
    shape={"warps": 1},
)
_MAGIC = Idea(
    "magic numbers",
    "A mask and the exponent of 1024 make two codes two halves.",
    "Without conversions, 4 instructions for two weights instead of 7: 1.5 a weight less.",
    edits=(
        (
            _EXACT,
            """\
  const uint32_t codes = (pairs >> (bit - place) & mask) >> place;
  return __floats2half2_rn(codes & 0xFFFFu, codes >> 16);
""",
        ),
    ),
)
_LOP3 = Idea(
    "lop3 by hand",
    "Mask and exponent in one instruction, which nvcc does not find by itself.",
    "One instruction less for two weights: 0.5 a weight.",
    edits=(
        (
            'asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), '
            '"r"(bits));',
            "result = (word & mask) | bits;",
        ),
    ),
)
_AHEAD = Idea(
    "a step ahead",
    "A warp asks for its next words before it uses those that came.",
    "Reading and arithmetic overlap: the longer of the two counts, not their sum.",
    edits=(
        ("  #pragma unroll 2\n", ""),
        (f"  Step next = {_COMING};\n", ""),
        ("const Step now = next;", f"const Step now = {_COMING};"),
        (_FETCH_NEXT, ""),
    ),
)
_STAY = Idea(
    "blocks that stay",
    "One block on each multiprocessor, which takes several tiles one after the other.",
    "A multiprocessor starts one block instead of 2 at 4096 rows and 8 at 16384, and its loads go "
    "on between tiles.",
    shape={"blocks": None},
)
_SHARED_X = Idea(
    "x in shared memory",
    "A block copies x once, and its warps read it there.",
    "8 of the 14 requests of a step to global memory ask for x; they go.",
    edits=(
        (_FETCH_X, ""),
        ("  __pipeline_wait_prior(0);\n  __syncthreads();\n\n", ""),
        ("add_step(now, x_shared,", "add_step(now, reinterpret_cast<const uint4*>(x),"),
        (
            "reinterpret_cast<float*>(&x_parts[steps * PARTS * ROWS])",
            "reinterpret_cast<float*>(x_shared)",
        ),
    ),
    shape={"stages_x": False},
)
_PER_GROUP = Idea(
    "scale once a group",
    "s (sum of q x - z sum of x): the tensor core multiplies codes, and sums of 128 are scaled.",
    "A subtraction and a product less for two weights: 1 instruction a weight. And weights are no "
    "longer rounded to fp16.",
    edits=(
        *(
            (
                f"dequant_pair(pairs_of({row}, plane, {i}), f)",
                f"weights_of(dequant_pair(pairs_of({row}, plane, {i}), f), step, tile, plane, {j})",
            )
            for i in (0, 1)
            for j, row in enumerate(("row", "row_8"))
        ),
        (
            "// Adds the products of a plane",
            """\
__device__ inline half2 weights_of(half2 codes, const Step& step, int tile, int plane, int j) {
  const int slot = plane / (PART / PLANE) * 2 + j;
  return __hmul2(__hsub2(codes, __half2half2(step.zeros[tile][slot])),
                 __half2half2(step.scales[tile][slot]));
}

// Adds the products of a plane""",
        ),
        ("weighted(dot, step, tile, part * 2 / SHARERS + slot, sum_of(sums))", "dot"),
        (
            "  prepare_x(x_shared, x_parts, steps * STEP);\n",
            "  __pipeline_wait_prior(0);\n",
        ),
    ),
)
_OFFSET = Idea(
    "codes with an offset",
    "Half of the codes read 64 + code: the others are brought there too, and 64 (sum of x) leaves "
    "once a group.",
    "Half of the multiply-adds that bring codes down: 0.25 a weight less.",
    edits=(
        (
            "return W_NBITS == 4 ? 64.0f : place_of(f) < 2 ? 0.0f : 1024 >> place_of(f);",
            "return 0.0f;",
        ),
        (
            """\
  const half2 codes = as_half2(and_or(pairs >> (bit - place), mask, (25u - place) * 0x04000400u));
  return place < 2 ? __hadd2(codes, __float2half2_rn(offset_of(f) - (1024 >> place))) : codes;
""",
            _EXACT,
        ),
    ),
)
_X_FIRST = Idea(
    "x before the weights",
    "The copies of x are asked for before the first words.",
    "x does not wait behind 32 KB of words, 1 µs of a multiprocessor's share of 4.5 TB/s.",
    edits=((_FETCH_X, ""), ("  prepare_x(x_shared", f"{_FETCH_X}  prepare_x(x_shared")),
)
_READ_ONCE = Idea(
    "read once",
    "Words are loaded as what is not read again, by __ldcs.",
    "The same instructions and sectors; the caches keep x and scales instead.",
    edits=(("__ldcs(&W[", "__ldg(&W["),),
)
_NEIGHBOURS = Idea(
    "neighbouring tiles",
    "Block b takes tiles b, b + blocks and so on, not some in a row.",
    "At any time all blocks read one piece of W; and the scales of a tile are 32 bytes, of the 64 "
    "that memory delivers at once: a neighbour wants the other half.",
    edits=(
        (
            "  const int tiles = ceil_div(N, TILE_N), blocks = gridDim.x, block = blockIdx.x;\n",
            """\
  const int all = ceil_div(N, TILE_N), least = all / gridDim.x, more = all % gridDim.x;
  const int b = blockIdx.x, block = b * least + min(b, more), blocks = 1;
  const int tiles = block + least + (b < more);
""",
        ),
    ),
)
_ONE_ROW = Idea(
    "a lane scales one row",
    "Four lanes hold the same sums of two rows: two of them scale the first row, two the second.",
    "2 loads of scales and zeros in a step instead of 4, and half of the scaling.",
    edits=(
        ("SHARERS = COPIES == 4 && (PARTS % 2 == 1 || HALF_READS) ? 2 : COPIES;", "SHARERS = 1;"),
        ("if (m < ROWS && (ROWS > 2 || t < 2))", "if (m < ROWS && t == 0)"),
    ),
)
_MORE_ROWS = Idea(
    "32 rows a warp",
    "What a warp reads of x serves two tiles of 16 rows; 16 warps are enough then.",
    "Half as many reads of x for each weight, and the loop's own instructions count half. As many "
    "words are on their way: half the warps, each with twice as many.",
    shape={"rows": 16, "warps": 32},
)

IDEAS = (
    *(_TENSOR_CORES, _BIG_LOADS, _SPLIT_K, _MAGIC, _LOP3, _AHEAD, _STAY, _SHARED_X, _PER_GROUP),
    *(_OFFSET, _X_FIRST, _READ_ONCE, _NEIGHBOURS, _ONE_ROW, _MORE_ROWS),
)

_ADVANCE = """\
    step += WARPS;
    if (step >= steps) step -= steps, tile += blocks;
"""
_FAR = "load_step(W_packed, scales, zeros, N, steps, far_tile * TILE_N, far_step)"

_TWO_AHEAD = Idea(
    "two steps ahead",
    "A warp has the words of two steps on their way.",
    "64 KB on their way, where 24 are enough. And words take registers, of which a lane has 128.",
    edits=(
        (
            f"  Step next = {_COMING};\n",
            f"""\
  int far_tile = block, far_step = warp_id + WARPS;
  if (far_step >= steps) far_step -= steps, far_tile += blocks;
  Step next = {_COMING};
  Step later = {_FAR};
""",
        ),
        (
            f"{_ADVANCE}{_FETCH_NEXT}",
            f"""\
    next = later;
    tile = far_tile, step = far_step;
    far_step += WARPS;
    if (far_step >= steps) far_step -= steps, far_tile += blocks;
    if (far_tile < tiles) later = {_FAR};
""",
        ),
    ),
)
_TWO_BLOCKS = Idea(
    "two blocks of 8 warps",
    "Two smaller blocks on a multiprocessor: one may work while the other starts or ends.",
    "As many warps, and x is copied and added up twice.",
    shape={"warps": 8, "blocks": 2},
)
_NO_STAY = Idea(
    "a block for each tile",
    "Blocks do not stay any more.",
    "x is copied and added up for every pair of tiles: once on a multiprocessor at 4096 rows, as "
    "before, but 4 times instead of once at 16384.",
    shape={"blocks": None},
)

# Ideas that we tried on top of all the others, one at a time.
TRIED = (_TWO_AHEAD, _TWO_BLOCKS, _NO_STAY)
