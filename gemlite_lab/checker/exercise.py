"""`Exercise`: everything that the checker knows about an exercise."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from gemlite_edu.kernels.errors import OneSentence


class CheckFailed(OneSentence, AssertionError):
    """The answer is wrong; the message says where and how, and names a known mistake behind it."""


class NotYet(CheckFailed):
    """The answer is right, and the exercise asks for more; the message says for what."""


@dataclass(frozen=True)
class Exercise:
    """A function that the learner writes, with everything needed to judge it.

    lesson: the slug of the lesson that sets it as an exercise; None for a check in a lesson's text.
    is_kernel: the answer is the text of a CUDA function; otherwise it is a Python function.
    is_triton: that Python function is in Triton; see `triton_answers`.
    runs_in: the module with the functions that `run` calls in the answer's process.
    compiled_cases: the indices of the cases for which Triton compiles an answer before it counts
        as right; the first of them all the way, the others as far as types and shapes matter.
    output, dtype: the name and dtype of the answer's result.
    fresh(seed) -> cases with other inputs for each seed. An answer that is right in all cases runs
        on these too, so that none passes by knowing the cases.
    expected(case) -> (right output, None) for exact equality, (right float64 output, elementwise
        bound) where rounding is allowed.
    run(answer, case, device) -> the learner's output, given what `runnable` makes of the answer.
    traps: {a changed circumstance, in words: case -> the case with that change}. An answer that is
        right only with the change has fallen into this trap.
    tolerance: the errors that a bound allows, in words.
    mistake_tolerance: an answer counts as a known mistake if it differs from that mistake's output
        by at most this fraction of it; None: by the bound of the right output.
    inputs_of(case, element) -> what this element of the output is computed from, as a text that is
        shown for the first wrong one; "" shows nothing.
    """

    name: str
    lesson: str | None
    output: str
    dtype: torch.dtype
    is_kernel: bool
    hints: tuple[str, str, str]
    cases: Callable[[], list]
    expected: Callable
    run: Callable
    traps: dict[str, Callable] = field(default_factory=dict)
    fresh: Callable[[int], list] = lambda seed: []
    tolerance: str = "rounding"
    mistake_tolerance: float | None = None
    is_triton: bool = False
    runs_in: str | None = None
    compiled_cases: tuple[int, ...] = ()
    inputs_of: Callable = lambda case, element: ""

    @property
    def runs_on_gpu(self):
        """Whether an answer that is right on the CPU is run on a GPU too."""
        return self.is_kernel or self.is_triton

    def cases_on(self, device):
        """The cases for "cpu" or "cuda". `fits_a_gpu` of a case is False if no GPU is to run it."""
        cases = self.cases()
        if device == "cpu":
            return cases
        return [case for case in cases if getattr(case, "fits_a_gpu", True)]

    def bound_around(self, wrong, bound):
        """How far an answer may be from a wrong output. bound: how far from the right output."""
        return bound if self.mistake_tolerance is None else wrong.abs() * self.mistake_tolerance


def tensors_of(case):
    """The input tensors of a case, by name."""
    return {name: value for name, value in vars(case).items() if isinstance(value, torch.Tensor)}


def clone(case):
    """A copy of the case whose tensors an answer may change; they lie in memory as in the case."""
    return replace(case, **{name: _copy(tensor) for name, tensor in tensors_of(case).items()})


def _copy(tensor):
    if tensor.is_contiguous() and not tensor.storage_offset():
        return tensor.clone()
    memory = tensor.untyped_storage().clone()
    place = tensor.storage_offset(), tensor.shape, tensor.stride()
    return torch.empty(0, dtype=tensor.dtype).set_(memory, *place)


# The relative error of a few float32 operations on one number.
FLOAT32_ROUNDING = 1e-6
_EXACT_NUMBERS = ("int", "Fraction")  # which may be too large for a float


def number(value):
    """An answer's number as a 0-d float64 tensor; None stays None.

    A number is anything that float() takes except a text, a truth value, or an array with an axis.
    Raises TypeError for anything else. What came from an answer's process as an int and no number
    is one that no float holds.
    """
    if value is None:
        return None
    plain = value.item() if getattr(value, "ndim", None) == 0 else value
    try:
        if isinstance(plain, str | bytes | bytearray | bool) or getattr(plain, "ndim", 0):
            raise TypeError
        return torch.tensor(float(plain), dtype=torch.float64)
    except (TypeError, ValueError, OverflowError):
        if type(value).__name__ in _EXACT_NUMBERS:
            raise TypeError(
                "it must return a number that a float can hold, up to 1.8e308, not a larger one"
            ) from None
        raise TypeError(f"it must return one number, not a {type(value).__name__}") from None


def run_watched(kernel, operands, device, N=None):
    """y (M, N) of a learner's kernel. N: the rows of W, if they are not its first dimension.

    On the CPU the simulator checks every access; a GPU checks none.

    Raises KernelFault for an access out of bounds, a race, a read of memory that nothing wrote, an
    output that nothing wrote, or lanes that never meet; such a kernel never reaches a GPU.
    docs/simulator.md lists the faults that the instruments cannot see.
    """
    if device == "cpu":
        report = kernel.inspect(*operands)
        report.raise_findings()
        return report.y
    x, W = operands[:2]
    N = len(W) if N is None else N
    poison = torch.nan if kernel.y_dtype.is_floating_point else -(2**31)
    out = torch.full((len(x), N), poison, dtype=kernel.y_dtype, device=device)
    on_device = [o.to(device) if isinstance(o, torch.Tensor) else o for o in operands]
    return kernel(*on_device, out=out).cpu()
