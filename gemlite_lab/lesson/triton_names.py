"""The functions of Triton kernels that exercises call, so that an editor knows their names."""

from gemlite_edu.kernels.triton.dequantize import load_tile
from gemlite_edu.kernels.triton.int4_pairs import shifted
from gemlite_edu.kernels.triton.tile_sum import planes_sum, scaled, tile_sum

__all__ = ["load_tile", "planes_sum", "scaled", "shifted", "tile_sum"]
