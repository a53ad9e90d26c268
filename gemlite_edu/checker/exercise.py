"""What an exercise is, to the checker."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch


@dataclass(frozen=True)
class Exercise:
    """One thing to write, with everything needed to judge it.

    notebook: where it is an exercise; None for a check that only a lesson makes.
    output, dtype: what the answer computes is called, and its dtype.
    expected(case) -> (right output, None) for exact equality, (right float64 output, elementwise
        bound) where rounding is allowed.
    run(answer, case, device) -> the learner's output.
    mistakes: {what is wrong, in words: case -> the output of a solution with just that mistake},
        where None instead of a tensor means that the mistake makes no sense for the case.
    """

    name: str
    notebook: str | None
    output: str
    dtype: torch.dtype
    is_kernel: bool
    hints: tuple[str, str, str]
    cases: Callable[[], list]
    expected: Callable
    run: Callable
    mistakes: dict[str, Callable]


def tensors_of(case):
    """The input tensors of a case, by name."""
    return {name: value for name, value in vars(case).items() if isinstance(value, torch.Tensor)}


def clone(case):
    """The case with tensors of its own, for an answer to work on."""
    return replace(case, **{name: tensor.clone() for name, tensor in tensors_of(case).items()})


def run_watched(kernel, operands, device):
    """y of a learner's kernel. On the CPU every access is checked, on a GPU none is.

    Raises KernelFault for an access outside, a race, a read of what nothing wrote, an output that
    nothing wrote, lanes that never meet: such a kernel does not go on to a GPU. docs/simulator.md
    says what the instruments cannot see.
    """
    if device == "cpu":
        report = kernel.inspect(*operands)
        report.raise_findings()
        return report.y
    x, W = operands[:2]
    out = torch.full((len(x), len(W)), torch.nan, dtype=x.dtype, device=device)
    on_device = [o.to(device) if isinstance(o, torch.Tensor) else o for o in operands]
    return kernel(*on_device, out=out).cpu()
