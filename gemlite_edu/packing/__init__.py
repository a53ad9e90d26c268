"""The packing formats, which define where each code lives in memory.

Each format has its file, and these kernels and libraries use it:

    warp_interleaved    the CUDA kernels of gemv/, for 1 to 8 bits
    bit_planes          gemv_a16w3_planes
    sparse_1in2         the CUDA kernels for 1:2 sparse weights
    plane_tiles         the fast CUDA kernels, and the Triton kernels
    plain_tiles         the Triton kernels, for numbers that are not packed
    piece_tiles         the fast CUDA kernels, for 3, 5, 6 and 7 bits
    rows_cols           GemLite's Triton version, GPTQ
    bitnet_2bit         the CUDA kernels for ternary weights; bitnet_fragments: BitMedViT's orders
    int4_pairs          torchao, and the Triton kernels of mixed_mm
"""

from gemlite_edu.packing.address_map import Address, pack_by_map, unpack_by_map
from gemlite_edu.packing.bit_planes import BitPlanes3, pack_3bit_planes, unpack_3bit_planes
from gemlite_edu.packing.bitnet_2bit import Bitnet2Bit, pack_bitnet_2bit, unpack_bitnet_2bit
from gemlite_edu.packing.bitnet_fragments import (
    FRAGMENTS,
    BitnetFragments,
    from_fragments,
    to_fragments,
)
from gemlite_edu.packing.int4_pairs import Int4Pairs, pack_2xint4, unpack_2xint4
from gemlite_edu.packing.piece_tiles import PieceTiles
from gemlite_edu.packing.plain_tiles import PlainTiles, tile_plain
from gemlite_edu.packing.plane_tiles import PlaneTiles
from gemlite_edu.packing.rows_cols import (
    OverCols,
    OverRows,
    pack_over_cols,
    pack_over_rows,
    unpack_over_cols,
    unpack_over_rows,
)
from gemlite_edu.packing.sparse_1in2 import (
    Sparse1in2,
    pack_sparse_1in2,
    pack_warped_int32_8bit_50_sparse,
    tiled_sparsity_50,
    unpack_sparse_1in2,
)
from gemlite_edu.packing.warp_interleaved import (
    WarpInterleaved,
    pack_warped_int32,
    unpack_warped_int32,
)

__all__ = [
    "Address",
    "BitPlanes3",
    "FRAGMENTS",
    "Bitnet2Bit",
    "BitnetFragments",
    "Int4Pairs",
    "OverCols",
    "OverRows",
    "PieceTiles",
    "PlainTiles",
    "PlaneTiles",
    "Sparse1in2",
    "WarpInterleaved",
    "from_fragments",
    "pack_2xint4",
    "pack_3bit_planes",
    "pack_bitnet_2bit",
    "pack_by_map",
    "pack_over_cols",
    "pack_over_rows",
    "pack_sparse_1in2",
    "pack_warped_int32",
    "pack_warped_int32_8bit_50_sparse",
    "tile_plain",
    "tiled_sparsity_50",
    "to_fragments",
    "unpack_2xint4",
    "unpack_3bit_planes",
    "unpack_bitnet_2bit",
    "unpack_by_map",
    "unpack_over_cols",
    "unpack_over_rows",
    "unpack_sparse_1in2",
    "unpack_warped_int32",
]
