"""The arguments of a kernel in the simulator."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Tensor:
    """A tensor argument; the run writes an output back into `value`, and an input is read-only.

    is_scratch: an input that the run may write; `value` stays as it is.
    """

    name: str
    value: torch.Tensor
    is_output: bool = False
    is_scratch: bool = False

    def __post_init__(self) -> None:
        if self.value.numel() == 0 or not self.value.is_contiguous() or self.value.is_cuda:
            raise ValueError(
                f"{self.name} must be a contiguous CPU tensor with at least one element, got shape "
                f"{tuple(self.value.shape)}, strides {self.value.stride()} on {self.value.device}"
            )


@dataclass(frozen=True)
class Integer:
    """A 32-bit integer argument."""

    value: int

    def __post_init__(self) -> None:
        if not -(2**31) <= self.value < 2**31:
            raise ValueError(f"an int parameter holds 32 bits, got {self.value}")


class NullPointer:
    """The null pointer, which stands for an absent tensor."""


Argument = Tensor | Integer | NullPointer
