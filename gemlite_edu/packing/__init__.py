"""Floor 1: where each code lives in memory."""

from gemlite_edu.packing.address_map import Address, pack_by_map, unpack_by_map
from gemlite_edu.packing.warp_interleaved import (
    WarpInterleaved,
    pack_warped_int32,
    unpack_warped_int32,
)

__all__ = [
    "Address",
    "WarpInterleaved",
    "pack_by_map",
    "pack_warped_int32",
    "unpack_by_map",
    "unpack_warped_int32",
]
