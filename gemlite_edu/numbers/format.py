"""`Format`: what the code of a weight stands for, and which scales multiply it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from gemlite_edu.numbers.checks import check_flag, check_group_size, check_size, is_int
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.numbers.format_checks import checked_levels, checked_texts
from gemlite_edu.numbers.quantize import check_nbits

_SCALE_DTYPES = {
    name_of(dtype): dtype
    for dtype in (torch.float16, torch.float32, torch.float8_e8m0fnu, torch.float8_e4m3fn)
}
_ZERO_BITS = 16  # the fast kernels hold the zeros of a group as float16
_TENSOR_SCALE_BITS = 32


@dataclass(frozen=True, repr=False)
class Format:
    """A low-bit number format: a weight is (value of its code) * (scale of its group).

    nbits: the width of a code, 1 to 8.
    levels: 2**nbits finite numbers, in any order; code c stands for levels[c]. None: codes are
        integers, and a code q with the zero z of its group stands for q - z.
    texts: CUDA texts {hole name: text} that decode the codes in a kernel: for `GemLiteLinear` those
        for `dequant_pair` and, if it needs one, `prepare_pairs`. They are kept as sorted pairs, so
        that a format is hashable, and `holes` returns them as a dict. None: the kernel's own text.
        `levels` still says what the codes stand for: an oracle computes with them, and a text for
        `prepare_pairs` may take them as `const float* levels`.
    group_size: how many neighbours along K share a scale; None: one scale per channel.
    scale_dtype: torch.float16, float32, float8_e8m0fnu or float8_e4m3fn; None: no such scales.
    has_tensor_scale: True if one float32 scale multiplies all weights, beside scales of
        float8_e4m3fn or alone.

    Formats with equal arguments are equal. `dataclasses.replace` makes a format from another one.
    Raises TypeError or ValueError, in one sentence, for arguments that describe no format.

    >>> from dataclasses import replace
    >>> ternary = Format(2, levels=(0, 1, -1, 0), group_size=64)
    >>> replace(ternary, scale_dtype=torch.float8_e8m0fnu)
    Format(2 bits, 4 levels from -1 to 1, a float8_e8m0fnu scale per group of 64)
    """

    nbits: int
    levels: tuple[float, ...] | None = None
    texts: tuple[tuple[str, str], ...] | None = None
    group_size: int | None = None
    scale_dtype: torch.dtype | None = torch.float16
    has_tensor_scale: bool = False

    if TYPE_CHECKING:  # it takes more than the fields keep

        def __init__(
            self,
            nbits: int,
            levels: Iterable[float] | torch.Tensor | None = None,
            texts: Mapping[str, str] | Iterable[tuple[str, str]] | None = None,
            group_size: int | None = None,
            scale_dtype: torch.dtype | None = torch.float16,
            has_tensor_scale: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        check_nbits(self.nbits)
        if self.levels is not None:
            object.__setattr__(self, "levels", checked_levels(self.levels, self.nbits))
        if self.texts is not None:
            object.__setattr__(self, "texts", checked_texts(self.texts))
        if self.scale_dtype is not None and self.scale_dtype not in _SCALE_DTYPES.values():
            takes = ", ".join(_SCALE_DTYPES)
            raise ValueError(f"scale_dtype must be {takes} or None, got {self.scale_dtype!r}")
        self._check_group_size()
        self._check_tensor_scale()

    def _check_group_size(self) -> None:
        if self.group_size is None:
            return
        if not is_int(self.group_size):
            came = repr(self.group_size)
            raise ValueError(f"group_size must be an int of at least 1, or None, got {came}")
        if self.levels is not None and self.scale_dtype is None:
            raise ValueError(
                f"group_size is {self.group_size}, but a table of levels without scales has "
                f"nothing per group: leave group_size out or choose a scale_dtype"
            )

    def _check_tensor_scale(self) -> None:
        check_flag("has_tensor_scale", self.has_tensor_scale)
        if self.has_tensor_scale and self.scale_dtype not in (None, torch.float8_e4m3fn):
            raise ValueError(
                f"has_tensor_scale goes with scale_dtype float8_e4m3fn or None, got "
                f"{name_of(self.scale_dtype)}: multiply the scales by it and leave it out"
            )

    def __repr__(self) -> str:
        codes = f"{self.nbits} bit{'s' * (self.nbits > 1)}, "
        if self.levels is None:
            codes += "integers with zeros"
        else:
            codes += f"{len(self.levels)} levels from {min(self.levels):g} to {max(self.levels):g}"
        own = f", own text for {' and '.join(self.holes)}" if self.texts else ""
        return f"Format({codes}, {self._scales_in_words()}{own})"

    def _scales_in_words(self) -> str:
        group = "channel" if self.group_size is None else f"group of {self.group_size}"
        words = []
        if self.scale_dtype is not None:
            words.append(f"a {name_of(self.scale_dtype)} scale per {group}")
        elif self.group_size is not None:
            words.append(f"a zero per {group}")
        if self.has_tensor_scale:
            words.append("a float32 scale per tensor")
        return " and ".join(words) or "no scales"

    @property
    def has_zeros(self) -> bool:
        """True if codes are integers, from which the zero of their group is subtracted."""
        return self.levels is None

    @property
    def holes(self) -> dict[str, str]:
        """`texts` as a dict {hole name: text}, as `load` takes it for `replace`; {} for None."""
        return dict(self.texts or ())

    @property
    def largest(self) -> float:
        """The largest number that a scale has to reach: the largest |level|, or 2**nbits - 1."""
        return 2.0**self.nbits - 1 if self.levels is None else max(map(abs, self.levels))

    def groups_of(self, K: int) -> int:
        """The number of groups per channel; raises ValueError unless group_size divides K.

        >>> Format(4, group_size=32).groups_of(128), Format(4).groups_of(128)
        (4, 1)
        """
        check_size("K", K)
        if self.group_size is None:
            return 1
        check_group_size(self.group_size, K)
        return K // self.group_size

    def values(self, codes: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """What each code stands for, before zeros and scales: a tensor of `dtype`, shaped as codes.

        codes: uint8, each below 2**nbits. An integer format returns the code itself.

        >>> Format(2, levels=(0, 1, -1, 0)).values(torch.tensor([[1, 2, 3]], dtype=torch.uint8))
        tensor([[ 1., -1.,  0.]])
        """
        if self.levels is None:
            return codes.to(dtype)
        table = _table(self.levels, dtype, codes.device)
        return table.index_select(0, codes.reshape(-1).int()).reshape(codes.shape)

    def levels_on(self, device: torch.device | str) -> torch.Tensor | None:
        """The levels as a new float32 tensor (2**nbits,) on `device`; None for integers."""
        if self.levels is None:
            return None
        return torch.tensor(self.levels, dtype=torch.float32, device=device)

    def bits_per_weight(self, N: int, K: int) -> float:
        """Memory of an (N, K) matrix over N K, in bits: codes, scales, and zeros of 16 bits each.

        >>> Format(4, group_size=128).bits_per_weight(4096, 4096)
        4.25
        """
        check_size("N", N)
        per_group = 0 if self.scale_dtype is None else 8 * self.scale_dtype.itemsize
        per_group += _ZERO_BITS * self.has_zeros
        per_tensor = _TENSOR_SCALE_BITS * self.has_tensor_scale
        return self.nbits + per_group * self.groups_of(K) / K + per_tensor / (N * K)

    def to_text(self) -> str:
        """The format as JSON, for layers to save and for torch operators to take."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        state["texts"] = self.holes or None
        state["scale_dtype"] = None if self.scale_dtype is None else name_of(self.scale_dtype)
        return json.dumps(state)

    @staticmethod
    def from_text(text: str) -> "Format":
        """The inverse of `to_text`; raises ValueError for a text that describes no format.

        >>> Format.from_text(Format(3).to_text()) == Format(3)
        True
        """
        try:
            state = json.loads(text)
            scale_dtype = state.pop("scale_dtype")
            state["scale_dtype"] = None if scale_dtype is None else _SCALE_DTYPES[scale_dtype]
            return Format(**state)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"no format is saved as {text!r:.80}: {error}") from error


@lru_cache(maxsize=64)
def _table(levels: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """The levels as a tensor, copied to a device once: a CUDA graph allows no copy later."""
    return torch.tensor(levels, dtype=torch.float64, device=device).to(dtype)
