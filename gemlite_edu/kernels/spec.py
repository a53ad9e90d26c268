"""`Spec`, which holds the choices that are made before a kernel is compiled."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch

from gemlite_edu.kernels.machine import Machine
from gemlite_edu.kernels.plan import Launch, Plan
from gemlite_edu.numbers.quantize import check_nbits


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A kernel's name, and the widths and dtypes passed to `load`.

    A subclass describes one family of kernels: its operands, and how to plan a call.
    """

    name: str
    nbits: int | None = None
    x_dtype: torch.dtype | None = None
    group_size: int | None = None

    x_dtypes: ClassVar[tuple[torch.dtype, ...]] = (torch.float16, torch.bfloat16)
    takes_nbits: ClassVar = True
    is_packed: ClassVar = True
    entry: ClassVar = "gemv"
    counted_as: ClassVar = ""  # its name in the Nsight Compute records
    usual_shape: ClassVar[tuple[int, int | None]] = (
        4096,
        4096,
    )  # (N, K) that `load` compiles for ahead of a call

    @property
    def text(self) -> str:
        """The name of the kernel's CUDA text in `sources`."""
        return self.name

    @property
    def y_dtype(self) -> Any:
        """The dtype of y."""
        return self.x_dtype

    @property
    def title(self) -> str:
        """The name, width and dtypes, for messages."""
        width = "" if self.nbits is None else f", nbits={self.nbits}"
        groups = "" if self.group_size is None else f", group_size={self.group_size}"
        return f"{self.name}{width}, x_dtype={self.x_dtype}{groups}"

    def completed(
        self,
        nbits: int | None = None,
        x_dtype: torch.dtype | None = None,
        group_size: int | None = None,
        y_dtype: torch.dtype | None = None,
        fragment: str | None = None,
    ) -> Self:
        """This spec with the arguments of `load`; TypeError or ValueError for unsupported ones."""
        if not (y_dtype is None and fragment is None):
            raise ValueError(f"y_dtype and fragment are for ternary weights: not for {self.name}")
        x_dtype = self.x_dtypes[0] if x_dtype is None else x_dtype
        if x_dtype not in self.x_dtypes:
            takes = " or ".join(map(str, self.x_dtypes))
            raise ValueError(f"x_dtype must be {takes} for {self.name}, got {x_dtype}")
        self._check_nbits(nbits)
        self._check_group_size(group_size)
        return replace(self, nbits=nbits, x_dtype=x_dtype, group_size=group_size)

    def with_texts(self, texts: dict[str, str]) -> Self:
        """This spec for a kernel whose holes are filled with `texts` {hole: text}."""
        return self

    def layout(self, K: int) -> Any:
        """The layout of the packed words for rows of K codes."""
        raise ValueError(f"{self.name} takes unquantized weights, which have no layout")

    def pack(
        self, W_q: torch.Tensor, *others: Any
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Make the operands (W, scales, zeros) of a call from codes."""
        raise ValueError(f"{self.name} takes words as gemlite_edu.packing makes them: use that")

    def shape(self, x: torch.Tensor, W: torch.Tensor, N: int | None) -> tuple[int, int, int]:
        """(M, N, K) of a call, after checking x and W; N: the number of outputs, or None."""
        raise TypeError(f"{type(self).__name__} takes no operands")

    def tensors(
        self,
        shape: tuple[int, int, int],
        x: torch.Tensor,
        W: torch.Tensor,
        scales: Any,
        zeros: Any,
        token_scales: Any,
    ) -> dict[str, torch.Tensor | None]:
        """{name: tensor or None} for a launch of `shape`, after checking the scales and zeros."""
        raise TypeError(f"{type(self).__name__} takes no operands")

    def plan(self, M: int, N: int, K: int | None, machine: Machine) -> Plan:
        """The `Plan` for y (M, N); ValueError if no launch fits the machine."""
        raise TypeError(f"{type(self).__name__} plans no launch")

    def notes(self, launch: Launch) -> tuple[str, ...]:
        """Sentences that a report of `launch` must add about the limits of the model."""
        return ()

    def _check_not_ternary(self, N: int | None, token_scales: object) -> None:
        if N is not None or token_scales is not None:
            raise TypeError(f"N and token_scales are for ternary weights: not for {self.name}")

    def _check_nbits(self, nbits: int | None) -> None:
        if self.takes_nbits and nbits is None:
            raise TypeError(f"{self.name} needs nbits, the width of its codes")
        if self.takes_nbits:
            check_nbits(nbits)
        elif nbits is not None:
            has = "weights of one width" if self.is_packed else "unquantized weights"
            raise ValueError(f"{self.name} takes {has}: leave nbits out")

    def _check_group_size(self, group_size: int | None) -> None:
        if group_size is None:
            return
        if not self.is_packed:
            raise ValueError(f"{self.name} takes unquantized weights: leave group_size out")
        if not isinstance(group_size, int) or isinstance(group_size, bool) or group_size < 1:
            raise ValueError(f"group_size must be an int of 1 or more, or None, got {group_size!r}")
