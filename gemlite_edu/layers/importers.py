"""Read the layers that other libraries store: GPTQ and AWQ checkpoints, and hqq's layers.

The checkpoints store codes, zeros and scales transposed: a row of scales belongs to a group, a
column to an output channel. Both formats pack the codes, and also the zeros, into int32 words:

           qweight              qzeros                    codes in a word, from the lowest bits up
    GPTQ   (K * nbits / 32, N)  (groups, N * nbits / 32)  neighbours along k; zeros along n
    AWQ    (K, N / 8)           (groups, N / 8)           along n, in the order 0 2 4 6 1 3 5 7

W = (codes - zeros) * scales in both, but GPTQ's first format stores each zero minus one. GPTQ
writes 3-bit codes as one bit string: 32 codes fill three words, and codes 10 and 21 each span two.
Sources: the packing of AutoGPTQ (`qlinear_cuda.py`), of GPTQModel (`utils/model.py`, the two
formats) and of AutoAWQ (`linear/gemm.py`).
"""

import math
from typing import Any, Protocol

import torch

from gemlite_edu.numbers.checks import check_group_size
from gemlite_edu.numbers.quantize import QuantizedWeight, check_nbits
from gemlite_edu.packing import unpack_over_cols

_WORD_BITS = 32
_AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # the column that each field of a word holds
_HQQ_NUMBERS = ("scale", "zero")  # in hqq's meta


class HqqLinear(Protocol):
    """The parts of hqq's HQQLinear that this package reads."""

    meta: dict[str, Any]

    def unpack(self, *, dtype: torch.dtype) -> torch.Tensor: ...


def from_gptq(
    qweight: torch.Tensor,
    qzeros: torch.Tensor,
    scales: torch.Tensor,
    g_idx: torch.Tensor | None = None,
    nbits: int = 4,
    zeros_stored_minus_one: bool = True,
) -> QuantizedWeight:
    """Convert a layer of a GPTQ checkpoint to a `QuantizedWeight`; its group size is K / groups.

    qweight: int32 (K * nbits / 32, N); qzeros: int32 (groups, N * nbits / 32).
    scales: (groups, N), any float dtype.
    g_idx: the group of each k, (K,) integers. Pass it if the checkpoint has it. It must equal
        k // group_size, because the kernels need groups of neighbours along k.
    nbits: 2, 3, 4 or 8.
    zeros_stored_minus_one: True for the checkpoint_format "gptq" (also if the checkpoint names
        none), False for "gptq_v2". Symmetric 4-bit layers store 7 in the first and 8 in the second.

    Raises TypeError or ValueError for other dtypes or shapes. Raises ValueError if a zero of the
    first format is ambiguous: a zero of 0, minus one, does not fit into its bits, and libraries
    differ in what they write instead (all bits of the word, or a borrow from the next zero).
    """
    check_nbits(nbits)
    if nbits not in (2, 3, 4, 8):
        raise ValueError(f"a GPTQ checkpoint has 2, 3, 4 or 8 bits, got nbits = {nbits}")
    _check_words(qweight=qweight, qzeros=qzeros)
    K, N = len(qweight) * _WORD_BITS // nbits, qweight.shape[1]
    _check_whole_words(f"the {len(qweight)} rows of qweight", len(qweight) * _WORD_BITS, nbits)
    _check_whole_words(f"N = {N} zeros", N * nbits, _WORD_BITS)
    groups = _groups(scales, K, N)
    _check_shape("qzeros", qzeros, (groups, N * nbits // _WORD_BITS))
    if g_idx is not None:
        _check_g_idx(g_idx, K, groups)

    zeros = _read_bits(qzeros, nbits)
    if zeros_stored_minus_one:
        zeros = _add_one(zeros, nbits)
    return _quantized(_read_bits(qweight.T, nbits), zeros, scales, nbits)


def from_awq(
    qweight: torch.Tensor, qzeros: torch.Tensor, scales: torch.Tensor, nbits: int = 4
) -> QuantizedWeight:
    """Convert a layer of an AWQ checkpoint (version "gemm") to a `QuantizedWeight`.

    qweight: int32 (K, N / 8); qzeros: int32 (groups, N / 8); scales: (groups, N), any float dtype.
    nbits: 4, the only width that AutoAWQ packs.

    Raises TypeError or ValueError for other dtypes or shapes.
    """
    check_nbits(nbits)
    if nbits != 4:
        raise ValueError(f"an AWQ checkpoint has 4 bits, got nbits = {nbits}")
    _check_words(qweight=qweight, qzeros=qzeros)
    K, words = qweight.shape
    groups = _groups(scales, K, words * len(_AWQ_ORDER))
    _check_shape("qzeros", qzeros, (groups, words))
    return _quantized(_read_awq(qweight).T, _read_awq(qzeros), scales, nbits)


def codes_of_hqq(layer: HqqLinear) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int, int]:
    """(W_q (N, K) uint8, scales, zeros (N, groups), nbits, group_size) of an hqq HQQLinear.

    hqq need not be installed: the function only uses the layer's `meta` and `unpack` (hqq 0.2.8).
    """
    meta = getattr(layer, "meta", None)
    if not isinstance(meta, dict) or not callable(getattr(layer, "unpack", None)):
        raise TypeError(f"from_hqqlinear takes hqq's HQQLinear, got {type(layer).__name__}")
    if meta.get("axis") != 1:
        raise ValueError(f"the HQQ layer has axis = {meta.get('axis')}: quantize it with axis=1")
    if "scale" not in meta or "zero" not in meta:
        raise ValueError("the HQQ layer's own scales are quantized or elsewhere: quantize it anew")
    absent = {"shape", "nbits", "group_size"} - meta.keys()
    if absent:
        raise ValueError(f"the HQQ layer's meta has no {min(absent)}: it is not one of hqq 0.2")
    if meta.get("view_as_float"):
        raise ValueError("the HQQ layer is stored as floats: quantize it with view_as_float=False")
    N, K = meta["shape"]
    group_size, nbits = meta["group_size"] or K, math.ceil(meta["nbits"])
    nbits = 8 if nbits > 4 else nbits  # hqq stores 5- and 6-bit codes in bytes
    check_group_size(group_size, K)
    is_packed = meta.get("packing", True) is not None
    codes = layer.unpack(dtype=torch.uint8) if is_packed else getattr(layer, "W_q", None)
    if not isinstance(codes, torch.Tensor):
        raise ValueError("the HQQ layer has no codes: initialize it")
    counts = codes.numel() - N * K, *(meta[n].numel() - N * K // group_size for n in _HQQ_NUMBERS)
    if counts[0] < 0 or any(counts[1:]):
        raise ValueError(f"the HQQ layer has too few codes, scales or zeros for ({N}, {K})")
    W_q = codes.detach().flatten()[: N * K].reshape(N, K).to(torch.uint8)
    scales, zeros = (meta[name].reshape(N, K // group_size) for name in _HQQ_NUMBERS)
    return W_q, scales, zeros, nbits, group_size


def _quantized(
    W_q: torch.Tensor, zeros: torch.Tensor, scales: torch.Tensor, nbits: int
) -> QuantizedWeight:
    group_size = W_q.shape[1] // len(scales)
    scales, zeros = _as_rows_of_channels(scales.detach()), _as_rows_of_channels(zeros)
    return QuantizedWeight(W_q.contiguous(), scales, zeros, nbits, group_size)


def _as_rows_of_channels(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.T.to(torch.float32, copy=True, memory_format=torch.contiguous_format)


def _read_bits(words: torch.Tensor, nbits: int) -> torch.Tensor:
    """Read each row of words as one bit string, lowest bit first, and cut it into `nbits` codes."""
    bits = words.shape[1] * _WORD_BITS
    if _WORD_BITS % nbits == 0:
        return unpack_over_cols(words, nbits, bits // nbits)
    single = unpack_over_cols(words, 1, bits).reshape(len(words), -1, nbits)
    return sum((single[..., bit] << bit for bit in range(nbits)), torch.zeros_like(single[..., 0]))


def _read_awq(words: torch.Tensor) -> torch.Tensor:
    fields = _read_bits(words, 4).reshape(*words.shape, len(_AWQ_ORDER))
    columns = torch.empty_like(fields)
    columns[..., _AWQ_ORDER] = fields
    return columns.reshape(len(words), -1)


def _add_one(zeros: torch.Tensor, nbits: int) -> torch.Tensor:
    largest = 2**nbits - 1
    unknown = (zeros == largest).nonzero()
    if len(unknown):
        group, n = unknown[0].tolist()
        raise ValueError(
            f"qzeros stores {largest} for group {group} of channel {n}: zero 0 less one, which "
            f"libraries write in different ways; save the checkpoint as gptq_v2 with the library "
            f"that made it, then pass zeros_stored_minus_one=False"
        )
    return zeros + 1


def _groups(scales: torch.Tensor, K: int, N: int) -> int:
    if not isinstance(scales, torch.Tensor) or not scales.is_floating_point():
        raise TypeError(f"scales must be a floating-point tensor, got {_kind(scales)}")
    if scales.dim() != 2 or scales.shape[1] != N or len(scales) == 0:
        raise ValueError(
            f"scales must have shape (groups, N) = (groups, {N}), got {tuple(scales.shape)}"
        )
    if K % len(scales):
        raise ValueError(
            f"the {len(scales)} groups of scales must divide K = {K}: a shorter last group has no "
            f"place in a QuantizedWeight; dequantize the layer with the library that made it"
        )
    return len(scales)


def _check_g_idx(g_idx: torch.Tensor, K: int, groups: int) -> None:
    if not isinstance(g_idx, torch.Tensor) or g_idx.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"g_idx must be an int32 or int64 tensor, got {_kind(g_idx)}")
    _check_shape("g_idx", g_idx, (K,))
    if not torch.equal(g_idx.long().cpu(), torch.arange(K) // (K // groups)):
        raise ValueError(
            f"g_idx is not k // {K // groups} (act order, or a shorter last group): the kernels "
            f"need groups of neighbours along k; quantize with desc_act=False"
        )


def _check_words(**tensors: torch.Tensor) -> None:
    for name, words in tensors.items():
        if not isinstance(words, torch.Tensor) or words.dtype != torch.int32:
            raise TypeError(f"{name} must be a torch.int32 tensor, got {_kind(words)}")
        if words.dim() != 2 or words.numel() == 0:
            raise ValueError(f"{name} must be a matrix of words, got {tuple(words.shape)}")


def _check_whole_words(what: str, bits: int, unit: int) -> None:
    if bits % unit:
        raise ValueError(f"{what} are {bits} bits, which is no multiple of {unit}: check nbits")


def _check_shape(name: str, tensor: torch.Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must have shape {shape}, got {tuple(tensor.shape)}")


def _kind(value: object) -> torch.dtype | str:
    return value.dtype if isinstance(value, torch.Tensor) else type(value).__name__
