"""`Form`: everything about a `GemLiteLinear` except its tensors."""

import json
from dataclasses import astuple, dataclass
from functools import cache, cached_property

import torch

from gemlite_edu.kernels.decoders import Coding
from gemlite_edu.numbers.checks import check_flag, check_group_size, check_size, is_int
from gemlite_edu.numbers.dtypes import DType, name_of
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.operators.choose import Problem, machine_for_cuda, triton_reads
from gemlite_edu.packing.piece_tiles import PieceTiles
from gemlite_edu.packing.plain_tiles import PlainTiles
from gemlite_edu.packing.plane_tiles import PlaneTiles
from gemlite_edu.packing.rows_cols import WORD_DTYPES

_INPUTS = (DType.FP16, DType.BF16, DType.FP8, DType.FP8e5, DType.INT8)
_OUTPUTS = (DType.FP16, DType.BF16, DType.FP32, DType.FP8, DType.FP8e5, DType.INT32)
_ACCUMULATORS = (None, DType.FP32, DType.FP16, DType.INT32)
_WIDTHS = (16, 8, 7, 6, 5, 4, 3, 2, 1)
_ONLY_IN_PIECES = (7, 6, 5)
HALVES = (DType.FP16, DType.BF16)
MOST_PADDING = 1.05  # codes of a row with padding, as a multiple of those without
_WORD_BITS_IN_PIECES = 1  # what a saved layer has in place of the width of its words
# A saved layer stores a dtype or a mode as its index in these tuples.
_DTYPES = (None, *DType)
_MODES = tuple(WeightMode)


@dataclass(frozen=True)
class Form:
    """The arguments of `GemLiteLinear`, and the choices that `pack` makes for its weights.

    mode: how scales and zeros are applied; word_dtype: the dtype of W_q. Both are None until `pack`
    is called. keeps_16_bits: see `choose.Problem`. in_pieces: the layout is `PieceTiles`.
    coding: how codes become numbers, if `W_q` came as a `CodedWeight` of levels or with own texts;
        None: they are integers. The levels are a tensor, so layers that differ in them alone have
        equal forms.
    Raises TypeError or ValueError for arguments that no layer supports.
    """

    W_nbits: int
    group_size: int | None
    in_features: int
    out_features: int
    input_dtype: DType
    output_dtype: DType
    acc_dtype: DType | None
    scaled_activations: bool
    mode: WeightMode | None = None
    word_dtype: torch.dtype | None = None
    keeps_16_bits: bool = False
    in_pieces: bool = False
    coding: Coding | None = None

    def __post_init__(self):
        if not is_int(self.W_nbits) or self.W_nbits not in _WIDTHS:
            raise ValueError(f"W_nbits must be 16, or from 1 to 8, got {self.W_nbits!r}")
        for name in ("in_features", "out_features"):
            check_size(name, getattr(self, name))
        if self.group_size is not None:
            check_group_size(self.group_size, self.in_features)
        check_flag("scaled_activations", self.scaled_activations)
        self._check_dtypes()

    def _check_dtypes(self):
        allowed = {"input_dtype": _INPUTS, "output_dtype": _OUTPUTS, "acc_dtype": _ACCUMULATORS}
        for name, dtypes in allowed.items():
            if getattr(self, name) not in dtypes:
                takes = ", ".join(str(dtype) for dtype in dtypes)
                raise ValueError(f"{name} must be one of {takes}, got {getattr(self, name)!r}")
        if self.W_nbits == 16 and self.input_dtype not in (DType.FP16, DType.BF16):
            raise ValueError(f"W_nbits 16 is for FP16 and BF16 x, not for {self.input_dtype}")
        if self.W_nbits in _ONLY_IN_PIECES and self.input_dtype not in HALVES:
            raise ValueError(
                f"{self.W_nbits} bits are for FP16 and BF16 x, not for {self.input_dtype}: "
                "store the codes in 8 bits"
            )
        if self.acc_dtype == DType.INT32 and self.input_dtype != DType.INT8:
            raise ValueError(f"acc_dtype INT32 is for INT8 x, not for {self.input_dtype}")
        if self.acc_dtype == DType.FP16 and self.input_dtype in (DType.BF16, DType.INT8):
            raise ValueError(f"acc_dtype FP16 is for FP16 and FP8 x, not for {self.input_dtype}")

    @property
    def groups(self):
        """Number of groups per channel."""
        return self.in_features // (self.group_size or self.in_features)

    @cached_property
    def layout(self):
        """The layout of packed weights: `PlainTiles` for plain numbers."""
        if self.word_dtype not in WORD_DTYPES.values():
            return PlainTiles(self.word_dtype, self.in_features)
        of_codes = self.W_nbits, self.in_features, self.group_size if self.groups > 1 else None
        if self.in_pieces:
            return PieceTiles(*of_codes)
        return PlaneTiles(*of_codes, 8 * self.word_dtype.itemsize)

    @property
    def wants_pieces(self):
        """True if `PieceTiles` suit the codes best.

        For integers of 3 bits they do if a row has few codes of padding, and if the fast kernels
        and dense weights do all that the layer asks for; else `PlaneTiles` do, which Triton reads.
        """
        if self.W_nbits != 3 or self.coding is not None:
            return self.W_nbits in (*_ONLY_IN_PIECES, 3)
        K, sums_in_fp32 = self.in_features, self.acc_dtype in (None, DType.FP32)
        padded_K = PieceTiles(3, K, self.group_size if self.groups > 1 else None).padded_K
        return self.input_dtype in HALVES and sums_in_fp32 and padded_K <= MOST_PADDING * K

    @property
    def has_triton(self):
        """True if the Triton kernels read these weights."""
        return triton_reads(self.layout, self.decoders)

    def problem(self, M, device):
        """The `Problem` for M rows of x on the device."""
        machine = machine_for_cuda(*self.operands, self.out_features, device)
        is_interpreted = machine is None and device.type == "cpu"
        return self.problem_on(machine, M)._replace(is_interpreted=is_interpreted)

    def problem_on(self, machine, M):
        """The same on a GPU; machine None: one for which there is no nvcc."""
        N, keeps_16_bits = self.out_features, self.keeps_16_bits
        return Problem(M, N, *self.operands, keeps_16_bits, machine, decoders=self.decoders)

    @cached_property
    def decoders(self):
        """The texts that decode the codes in the fast kernels; see `Coding.decoders`."""
        return () if self.coding is None else self.coding.decoders

    @property
    def has_levels(self):
        """True if the codes are indices into a tensor of levels."""
        return self.coding is not None and self.coding.level_count > 0

    @cached_property
    def operands(self):
        """(Layout of W, dtype of x, dtype of y), which a kernel must support."""
        return self.layout, self.input_dtype.value, self.output_dtype.value

    def to_ints(self):
        """The form as ints, without `keeps_16_bits`, `coding` and the dtype of unpacked weights."""
        dtypes = (_DTYPES.index(d) for d in (self.input_dtype, self.output_dtype, self.acc_dtype))
        sizes = self.W_nbits, self.group_size or 0, self.in_features, self.out_features
        word_bits = 8 * self.word_dtype.itemsize if self.layout.nbits else 0
        word_bits = _WORD_BITS_IN_PIECES if self.in_pieces else word_bits
        scaled, mode = int(self.scaled_activations), _MODES.index(self.mode)
        return [*sizes, *dtypes, scaled, mode, word_bits]

    @staticmethod
    def from_ints(ints, number_dtype, keeps_16_bits=False, coding=None):
        """The inverse of `to_ints`. number_dtype: the dtype of unpacked weights.

        Raises ValueError for ints that describe no layer.
        """
        nbits, group_size, K, N, *dtypes, scaled, mode, word_bits = ints
        word_dtypes = {0: number_dtype, _WORD_BITS_IN_PIECES: PieceTiles.word_dtype} | WORD_DTYPES
        is_known = scaled in (0, 1) and 0 <= mode < len(_MODES) and word_bits in word_dtypes
        if not is_known or not all(0 <= dtype < len(_DTYPES) for dtype in dtypes):
            raise ValueError(f"no layer is saved as {ints}")
        dtypes = (_DTYPES[dtype] for dtype in dtypes)
        in_pieces = word_bits == _WORD_BITS_IN_PIECES
        of_pack = _MODES[mode], word_dtypes[word_bits], keeps_16_bits, in_pieces, coding
        return Form(nbits, group_size or None, K, N, *dtypes, bool(scaled), *of_pack)

    def to_text(self):
        """The form as JSON, because torch operators cannot take Python objects."""
        coding = None if self.coding is None else astuple(self.coding)
        return json.dumps([*self.to_ints(), name_of(self.word_dtype), self.keeps_16_bits, coding])

    @staticmethod
    @cache
    def of_text(text):
        """The inverse of `to_text`; equal texts return the same object."""
        *ints, word_dtype, keeps_16_bits, coding = json.loads(text)
        coding = None if coding is None else _coding_of(coding)
        return Form.from_ints(ints, getattr(torch, word_dtype), keeps_16_bits, coding)


def _coding_of(state):
    if isinstance(state, str):
        raise ValueError(
            "this program was exported when levels were part of the program, and now they are a "
            "tensor: export its model again"
        )
    level_count, texts, fit_in_halves = state
    return Coding(level_count, texts and tuple(map(tuple, texts)), fit_in_halves)
