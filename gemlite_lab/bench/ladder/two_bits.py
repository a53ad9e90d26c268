"""The further ideas of gemv_a16wn_fast for 2- and 1-bit codes, in the form of four_bits.py."""

from gemlite_lab.bench.ladder.idea import Idea, Shape

SHAPE = Shape(warps=16, blocks=1, rows=32)

IDEAS = (
    Idea(
        "exact codes",
        "Tensor cores, as for 4 bits: each pair of codes is brought to its numbers.",
        "A mask with an exponent and a subtraction for two weights: 1 instruction a weight, before "
        "anything else.",
    ),
    Idea(
        "codes with an offset",
        "The tensor core multiplies codes + offset, and the offset leaves once a group.",
        "One instruction less for two weights: 0.5 a weight.",
        edits=(
            ("return 256 >> W_NBITS * f % 8;", "return 0.0f;"),
            (
                "  return as_half2(and_or(bit < 8 ? pairs << 2 : pairs >> 6, mask, "
                "(25u - place) * 0x04000400u));\n",
                "  const half2 raised =\n"
                "      as_half2(and_or(bit < 8 ? pairs << 2 : pairs >> 6, mask, "
                "(25u - place) * 0x04000400u));\n"
                "  return __hsub2(raised, __float2half2_rn(256 >> W_NBITS * f % 8));\n",
            ),
        ),
    ),
    Idea(
        "32 rows a warp",
        "What a warp reads of x serves two tiles of 16 rows.",
        "Half as many reads of x for each weight, and twice as many words on their way in a warp.",
        shape={"rows": 16},
    ),
)
