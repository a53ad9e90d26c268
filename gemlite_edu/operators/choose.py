"""Choose the kernel that multiplies M rows of x by packed weights.

Read `RULES` from top to bottom: the first rule that takes a problem decides.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Literal, NamedTuple

import torch

from gemlite_edu.kernels.gemm_mma import MOST_ROWS
from gemlite_edu.kernels.machine import AMPERE, HOPPER, Machine, machine_of
from gemlite_edu.kernels.ternary_fast import LONGEST_K
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.operators.cuda_product import GEMM_FAST, GEMM_MMA, GEMV_FAST
from gemlite_edu.operators.triton_product import BF16_NEEDS_AMPERE
from gemlite_edu.packing.piece_tiles import PieceTiles
from gemlite_edu.packing.plain_tiles import PlainTiles
from gemlite_edu.packing.plane_tiles import PlaneTiles
from gemlite_edu.runners import cuda

Layout = PlaneTiles | PieceTiles | PlainTiles
Decoders = tuple[tuple[str, str], ...]  # (hole, text)
MatmulType = Literal[
    "GEMV_FAST",
    "GEMM_FAST",
    "GEMM_MMA",
    "GEMV",
    "GEMV_REVSPLITK",
    "GEMM_SPLITK",
    "GEMM",
    "DEQUANTIZE",
]
# {matmul type: `CudaProduct`}
FAST = {"GEMV_FAST": GEMV_FAST, "GEMM_FAST": GEMM_FAST, "GEMM_MMA": GEMM_MMA}
MATMUL_TYPES: dict[str, str] = {
    "GEMV_FAST": "gemv_a16wn_fast",
    "GEMM_FAST": "gemm_a16wn_fast",
    "GEMM_MMA": "gemm_a16wn_mma",
    "GEMV": "gemv",
    "GEMV_REVSPLITK": "gemv_revsplitk",
    "GEMM_SPLITK": "gemm_splitk",
    "GEMM": "gemm",
    "DEQUANTIZE": "dense weights, once for each call, and the library's product",
}
_HALVES = (torch.float16, torch.bfloat16)
_OF_TRITON = ("GEMV", "GEMV_REVSPLITK", "GEMM_SPLITK", "GEMM")
_ROUNDING = ("DEQUANTIZE", "GEMM_FAST")  # these types round the weights to the dtype of x
_NOTHING = "__global__ void nothing() {}"


def triton_reads(layout: Layout, decoders: Decoders | None) -> bool:
    """True for weights that are integers in `PlaneTiles`, or numbers."""
    return decoders == () and not isinstance(layout, PieceTiles)


class Problem(NamedTuple):
    """A product to compute: M rows of x times the N rows of a layer's weights.

    keeps_16_bits: x and y share one 16-bit dtype, and rounding the weights to it loses little.
    machine: the GPU that runs CUDA kernels; None if only Triton kernels can run.
    decoders: texts for the holes of the fast kernels, as `decoders` returns them.
    is_interpreted: the weights are on a CPU, where Triton interprets its kernels.
    """

    M: int
    N: int
    layout: Layout
    x_dtype: torch.dtype
    y_dtype: torch.dtype
    keeps_16_bits: bool
    machine: Machine | None
    decoders: Decoders | None = ()
    is_interpreted: bool = False

    def has(self, name: str) -> bool:
        """True if the problem's machine runs that one of `FAST`, which takes these operands."""
        if self.machine is None or self.decoders is None:
            return False
        operands = self.layout, self.x_dtype, self.y_dtype, self.machine, self.N
        return FAST[name].takes(*operands, self.decoders)

    @property
    def has_triton(self) -> bool:
        """True if the Triton kernels read these weights."""
        return triton_reads(self.layout, self.decoders)

    @property
    def torch_is_sooner(self) -> bool:
        """True for codes on a CPU that torch decodes: it is sooner than a simulated kernel."""
        is_float = self.x_dtype in _HALVES and self.y_dtype in (*_HALVES, torch.float32)
        return self.is_interpreted and is_float and self.layout.nbits is not None

    @property
    def weights(self) -> str:
        """The property of the weights that the rules depend on, in words."""
        if self.layout.nbits is None:
            return "weights that are numbers"
        if not self.has_triton:
            return "packed weights that no Triton kernel reads"
        if self.keeps_16_bits:
            return "packed weights that fit the 16-bit type of x and y"
        return "packed weights, otherwise"


class Rows(NamedTuple):
    """A problem for rules that depend only on M, the number of rows of x."""

    M: int


class TernaryProblem(NamedTuple):
    """M rows of int8 x times ternary weights of K codes, on a machine: for `TERNARY_RULES`."""

    M: int
    K: int
    machine: Machine


class Rule(NamedTuple):
    """Use `matmul_type` for up to `most_rows` rows of x (None: any number), because of `reason`.

    needs: a further condition on the problem.
    """

    matmul_type: str
    most_rows: int | None
    reason: str
    needs: Callable[[Any], bool] = lambda problem: True


_MOST_ROWS_TO_SHARE_K = 64
_MOST_ROWS_BEFORE_TORCH = 1024  # so far each timed format is sooner: tools/time_formats.py

RULES = (
    Rule(
        "DEQUANTIZE",
        None,
        "on a CPU kernels are simulated, and torch multiplies by dense weights sooner",
        lambda problem: problem.torch_is_sooner,
    ),
    Rule(
        "GEMV_FAST",
        4,
        "a few rows share one pass over the packed words, at the speed of the memory",
        lambda problem: problem.has("GEMV_FAST"),
    ),
    Rule(
        "GEMM_FAST",
        2048,
        "tensor cores multiply the packed words, in less time than with weights made dense",
        lambda problem: problem.has_triton and problem.keeps_16_bits and problem.has("GEMM_FAST"),
    ),
    Rule(
        "GEMM_FAST",
        None,
        "tensor cores multiply the packed words; torch, which alone makes these dense, takes "
        "far longer",
        lambda problem: (
            not problem.has_triton and problem.keeps_16_bits and problem.has("GEMM_FAST")
        ),
    ),
    Rule(
        "GEMV_FAST",
        8,
        "8 rows still share one pass over the packed words, and GEMM_FAST does not take them",
        lambda problem: problem.has("GEMV_FAST"),
    ),
    Rule(
        "GEMM_MMA",
        MOST_ROWS,
        "tensor cores multiply the packed words, each decoded once for all rows; GEMM_FAST needs "
        "Hopper",
        lambda problem: problem.has("GEMM_MMA") and problem.machine.capability != HOPPER,
    ),
    Rule(
        "GEMM_MMA",
        _MOST_ROWS_BEFORE_TORCH,
        "no Triton kernel reads these weights, and tensor cores decode them, for 64 rows at a "
        "time, sooner than torch makes them dense",
        lambda problem: problem.has("GEMM_MMA") and not problem.has_triton,
    ),
    Rule(
        "DEQUANTIZE",
        None,
        "no Triton kernel reads these weights, and CUDA's do not take these rows on this machine, "
        "or not sooner",
        lambda problem: not problem.has_triton,
    ),
    Rule("GEMV", 1, "one row needs each weight once, so tensor cores would not help"),
    Rule(
        "GEMM_SPLITK",
        _MOST_ROWS_TO_SHARE_K,
        "tensor cores unpack W once for all rows, and programs share K to keep a large GPU busy",
    ),
    Rule(
        "DEQUANTIZE",
        None,
        "multiplying is the limit, and beside it writing W out in 16 bits is cheap",
        lambda problem: problem.keeps_16_bits,
    ),
    Rule("GEMM", None, "tensor cores unpack W tile by tile, and many rows keep the GPU busy"),
)

INT4_RULES = (  # for the int4 product, forward and transposed
    Rule("FUSED", 128, "the kernel reads the packed bytes only"),
    Rule("DEQUANTIZE", None, "multiplying is the limit, and beside it a dense W is cheap"),
)

TERNARY_RULES = (  # for the product of int8 x and ternary weights
    Rule("gemv_a8w2_dp4a", 8, "8 rows share one pass over W"),
    Rule(
        "gemm_a8w2_fast",
        None,
        "Hopper's tensor cores take weights from the registers where they are decoded",
        lambda problem: problem.machine.capability == HOPPER and problem.K <= LONGEST_K,
    ),
    Rule("gemm_a8w2_wmma", None, "tensor cores unpack W once for all rows"),
)


def choose(problem: Problem | Rows | TernaryProblem, rules: Iterable[Rule] = RULES) -> Rule:
    """The first `Rule` that takes the problem.

    >>> choose(Rows(8), TERNARY_RULES).matmul_type
    'gemv_a8w2_dp4a'
    >>> from gemlite_edu.kernels.machine import H200
    >>> choose(TernaryProblem(64, 4096, H200), TERNARY_RULES).matmul_type
    'gemm_a8w2_fast'
    """
    return next(
        rule
        for rule in rules
        if (rule.most_rows is None or problem.M <= rule.most_rows) and rule.needs(problem)
    )


def limits(
    problem: Problem | Rows, rules: Iterable[Rule] = RULES
) -> tuple[tuple[int | None, str], ...]:
    """((most rows, matmul type), ...): the largest M that each matmul type handles; None: any M.

    >>> limits(Rows(1), INT4_RULES)
    ((128, 'FUSED'), (None, 'DEQUANTIZE'))
    """
    found, most = {}, 0
    for rule in rules:
        if rule.needs(problem._replace(M=1)) and (rule.most_rows is None or rule.most_rows > most):
            found[rule.matmul_type] = most = rule.most_rows
            if most is None:
                break
    return tuple((most, matmul_type) for matmul_type, most in found.items())


def refusal(problem: Problem, matmul_type: str) -> str | None:
    """Why the problem's machine does not compute it by `matmul_type`, in words; None if it does."""
    is_old = problem.machine is not None and problem.machine.capability < AMPERE
    if is_old and problem.x_dtype == torch.bfloat16 and matmul_type in _OF_TRITON:
        return BF16_NEEDS_AMPERE
    return None


def check_matmul_type(name: str, problem: Problem) -> None:
    """Raise ValueError unless `name` is in `MATMUL_TYPES` and may be used for these weights.

    The types that round weights are allowed only if the problem `keeps_16_bits`, and Triton's only
    if it `has_triton`. DEQUANTIZE does not round where torch decodes the codes.
    """
    keeps_16_bits, has_triton = problem.keeps_16_bits, problem.has_triton
    if not isinstance(name, str) or name not in MATMUL_TYPES:
        raise ValueError(f"matmul_type must be one of {', '.join(MATMUL_TYPES)}, got {name!r}")
    if not has_triton and name not in (*FAST, "DEQUANTIZE"):
        raise ValueError(
            f"{name} is for codes that are integers, and not in pieces: "
            f"take {', '.join(FAST)} or DEQUANTIZE"
        )
    is_exact = name == "DEQUANTIZE" and (problem.torch_is_sooner or not has_triton)
    if name in _ROUNDING and not keeps_16_bits and not is_exact:
        raise ValueError(
            f"{name} is for packed weights that fit the 16-bit type of x and y: "
            "take another matmul_type"
        )


def check_taken(
    name: str,
    layout: Layout,
    x_dtype: torch.dtype,
    y_dtype: torch.dtype,
    device: torch.device,
    N: int,
    decoders: Decoders | None = (),
) -> None:
    """Raise unless `FAST[name]` supports this layout, x and y; a CPU means the simulator."""
    if decoders is None:
        raise ValueError(f"{name} has no text that decodes this format: take DEQUANTIZE")
    reason = FAST[name].refusal(layout, x_dtype, y_dtype, machine_of(device), N, decoders)
    if reason is not None:
        raise ValueError(
            f"{name} does not take {name_of(x_dtype)} x, {name_of(y_dtype)} y, N = {N} and K = "
            f"{layout.K} as packed here, on {device}, because {reason}: take another matmul_type"
        )


def machine_for_cuda(
    layout: Layout, x_dtype: torch.dtype, y_dtype: torch.dtype, N: int, device: torch.device
) -> Machine | None:
    """The device's `Machine` if a CUDA kernel supports this layer and nvcc can compile; else None.

    On a CPU it is None too: Triton's interpreter takes milliseconds, the simulator seconds.
    """
    if device.type != "cuda":
        return None
    machine, operands = machine_of(device), (layout, x_dtype, y_dtype)
    is_taken = any(product.takes(*operands, machine, N) for product in FAST.values())
    return machine if is_taken and _compiles(machine.capability) else None


@cache
def _compiles(capability: tuple[int, int]) -> bool:
    """True if nvcc compiles CUDA kernels for this GPU; prints one notice if it cannot."""
    try:
        cuda.build_kernel(_NOTHING, "nothing", {}, capability)
    except (RuntimeError, ValueError, OSError) as error:
        print(
            "CUDA kernels cannot be compiled here, and GemLiteLinear takes its Triton kernels, "
            f"which are slower for few rows: {error}"
        )
        return False
    return True
