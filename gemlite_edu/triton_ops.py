"""Floor 4: the Triton kernels as one operator of torch, `gemlite_edu::linear`.

It chooses the kernel by the number of rows; the one table of that is `CHOICES`.
"""

import json
from functools import cache, partial

import torch

from gemlite_edu import tuning
from gemlite_edu.dtypes import name_of
from gemlite_edu.packing.plane_tiles import PlainTiles, PlaneTiles
from gemlite_edu.triton_matmul import Epilogue, TritonWeight, dense, matmul
from gemlite_edu.weight_modes import WeightMode

MATMUL_TYPES = {
    "GEMV": "gemv",
    "GEMV_REVSPLITK": "gemv_revsplitk",
    "GEMM_SPLITK": "gemm_splitk",
    "GEMM": "gemm",
    "DEQUANTIZE": "dense weights, once for each call, and the library's product",
}

# What computes how many rows of x, up to and with that many.
CHOICES = {
    "packed weights that fit the 16-bit type of x and y": (
        (1, "GEMV"),
        (64, "GEMM_SPLITK"),
        (None, "DEQUANTIZE"),
    ),
    "packed weights, otherwise": ((1, "GEMV"), (64, "GEMM_SPLITK"), (None, "GEMM")),
    "weights that are numbers": ((1, "GEMV"), (64, "GEMM_SPLITK"), (None, "GEMM")),
}


def kind_of(is_packed, x_dtype, y_dtype, fits_16_bits):
    """Which row of `CHOICES` these weights, x and y have.

    fits_16_bits: whether dense weights of the type of x keep what the codes say.
    """
    if not is_packed:
        return "weights that are numbers"
    if x_dtype == y_dtype and x_dtype.itemsize == 2 and fits_16_bits:
        return "packed weights that fit the 16-bit type of x and y"
    return "packed weights, otherwise"


def choose(kind, M):
    """The matmul type for M rows of x.

    >>> choose("packed weights, otherwise", 16)
    'GEMM_SPLITK'
    """
    return next(name for limit, name in CHOICES[kind] if limit is None or M <= limit)


def form_of(layout, mode, y_dtype, dot_dtype, kind):
    """All that is not a tensor, as the one text that the operator takes; kind: of `CHOICES`."""
    shape = {"K": layout.K}
    if layout.nbits is None:
        shape["dtype"] = name_of(layout.dtype)
    else:
        shape |= {
            "nbits": layout.nbits,
            "group_size": layout.group_size,
            "word_bits": layout.word_bits,
        }
    types = {"mode": mode.name, "y_dtype": name_of(y_dtype), "dot_dtype": name_of(dot_dtype)}
    return json.dumps(types | {"layout": shape, "kind": kind})


@cache
def _formed(form):
    """(layout, mode, y_dtype, dot_dtype, kind) of what `form_of` made."""
    values = json.loads(form)
    shape = values["layout"]
    if "dtype" in shape:
        layout = PlainTiles(getattr(torch, shape["dtype"]), shape["K"])
    else:
        layout = PlaneTiles(**shape)
    y_dtype, dot_dtype = (getattr(torch, values[name]) for name in ("y_dtype", "dot_dtype"))
    return layout, WeightMode[values["mode"]], y_dtype, dot_dtype, values["kind"]


@torch.library.custom_op("gemlite_edu::linear", mutates_args=())
def linear(
    x: torch.Tensor,
    token_scales: torch.Tensor | None,
    words: torch.Tensor,
    high: torch.Tensor | None,
    scales: torch.Tensor | None,
    zeros: torch.Tensor | None,
    channel_scales: torch.Tensor | None,
    bias: torch.Tensor | None,
    form: str,
    matmul_type: str,
) -> torch.Tensor:
    """y (M, N) for x (M, K); form: of `form_of`; matmul_type: of `MATMUL_TYPES`, "" to choose."""
    layout, mode, y_dtype, dot_dtype, kind = _formed(form)
    weight = TritonWeight(words, layout, mode, scales, zeros, channel_scales, high)
    epilogue = Epilogue(y_dtype, token_scales, bias)
    matmul_type = matmul_type or choose(kind, len(x))
    x = x.contiguous()
    if len(x) == 0:
        return x.new_empty((0, weight.N), dtype=y_dtype)
    if matmul_type == "DEQUANTIZE":
        return _by_library(x, weight, epilogue)
    name = MATMUL_TYPES[matmul_type]
    run = partial(_run, name, epilogue=epilogue, dot_dtype=dot_dtype)
    timed = partial(_timed, run, epilogue)
    return run(x, weight, tuning.config_for(name, x, weight, timed, dot_dtype))


@linear.register_fake
def _(x, token_scales, words, high, scales, zeros, channel_scales, bias, form, matmul_type):
    return x.new_empty((x.shape[0], words.shape[1]), dtype=_formed(form)[2])


def _run(name, x, weight, config, epilogue, dot_dtype):
    return matmul(name, x, weight, config, epilogue, dot_dtype=dot_dtype)


def _timed(run, epilogue, x, weight, config):
    """`run` on a number of rows of its own, so with token scales of its own."""
    token_scales = None if epilogue.token_scales is None else x.new_ones(len(x), dtype=torch.float)
    return run(x, weight, config, epilogue=Epilogue(epilogue.y_dtype, token_scales, epilogue.bias))


def _by_library(x, weight, epilogue):
    """y from a dense W: for many rows, dequantizing costs less than a slower product."""
    bias = None if epilogue.bias is None else epilogue.bias.to(x.dtype)
    with torch.autocast(x.device.type, enabled=False):
        return torch.nn.functional.linear(weight.layout.pad(x), dense(weight, x.dtype), bias)
