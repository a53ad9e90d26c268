"""Exercises of shared_memory and races: small kernels whose reports are judged too."""

import torch

from gemlite_edu.runners.simulator.use_of_results import SHARED
from gemlite_lab.checker.exercise import CheckFailed
from gemlite_lab.checker.rare_numbers import FLOATS, among, scaled
from gemlite_lab.checker.small_kernels import SmallKernel

_PIECE = 64  # elements that a block of cuda_two_buffers stages in a turn
_BEYOND_16_BITS = 65_664


def _fractions(bits):
    """Quarters of whole numbers of so many bits: a half holds 11 of them, an int no fraction."""

    def draw(generator, *shape):
        return torch.randint(-(2**bits), 2**bits, shape, generator=generator) / 4

    return draw


def _summands(generator, N, K):
    """Numbers of 23 bits where no two are added up, and else of 15; some rows have another unit."""
    bits = 22 if K == _PIECE else 15
    return scaled(among(_fractions(bits)(generator, N, K), [0]), (2**-60, 0, 2**40), run=K)


def _reversed_sums(x, N, K):
    return x.view(len(x), -1, _PIECE).flip(2).sum(1)


def _judge_requests(report, case):
    """Each request of global memory uses its sectors whole; none of shared memory has conflicts."""
    for line in report.lines:
        if line.space == "global" and line.bytes_moved > line.bytes_asked:
            raise CheckFailed(
                f"y is right, but each request to {line.op} {line.name} ({line.place}) touches "
                f"{line.per_request:.0f} sectors for {line.bytes_asked / line.requests:.0f} bytes: "
                "let neighbouring lanes take neighbouring elements"
            )
        if line.space == "shared" and line.cost > line.least_cost:
            raise CheckFailed(
                f"y is right, but each request to {line.op} {line.name} ({line.place}) takes "
                f"{line.per_request:.1f} wavefronts, {line.conflict_degree:.1f} times those "
                "without bank conflicts: in which banks do the elements of its lanes lie?"
            )


def _judge_barriers(report, case):
    """The sums are made from shared memory, with at most one barrier a turn."""
    loads, _ = report.total("shared", "load")
    if 32 * loads < case.x.numel():
        raise CheckFailed(
            "y is right, but the sums are not made from shared memory: stage each piece of x "
            "there, and add up what the other thread has staged"
        )
    barriers, turns = len(report.phases) - 1, case.x.shape[1] // _PIECE
    if barriers > turns:
        raise CheckFailed(
            f"y is right, but a thread meets {barriers} barriers for {turns} "
            f"turn{'s' * (turns > 1)}: one a turn is enough if neighbouring turns use different "
            "buffers"
        )


CUDA_TRANSPOSE = SmallKernel(
    name="cuda_transpose",
    parameters="const float* x, float* y, int N",
    inputs={"x": lambda generator, N: among(_fractions(20)(generator, 32, N), FLOATS)},
    right=lambda x, N: x.T.contiguous(),
    launches=((256, 96), (1024, 288), (128, 2080)),
    blocks=lambda threads, N: N // 32,
    teaches="__shared__",
    uses=SHARED,
    judge=_judge_requests,
    hints=(
        "A warp loads 32 neighbours of one row of x and stores 32 neighbours of one row of y. "
        "Between the two, the elements must change lanes: that is what the tile is for.",
        "Two loops, and a barrier between them: the first one takes the rows of x, the second one "
        "the rows of y. Warp w begins with row w, and each turn goes on by the warps of the block.",
        "If the first loop stores tile[row][lane], the second one loads tile[lane][column]. Such a "
        "load meets a single bank if a row of the tile has 32 cells.",
    ),
).exercise("shared_memory")

CUDA_TWO_BUFFERS = SmallKernel(
    name="cuda_two_buffers",
    parameters="const float* x, float* y, int N, int K",
    inputs={"x": _summands},
    right=_reversed_sums,
    launches=((64, 5, 640), (64, 260, 64), (64, 1, 128), (64, 1, _BEYOND_16_BITS)),
    blocks=lambda threads, N, K: N,
    teaches="__shared__",
    uses=SHARED,
    judge=_judge_barriers,
    hints=(
        "The second barrier of a turn keeps the next turn from overwriting what is still read. "
        "What if the next turn writes somewhere else?",
        "__shared__ float piece[2][64]; has room for two pieces: even turns take piece[0], odd "
        "ones piece[1].",
        "turn % 2 selects the buffer. Store into it, meet, load from it: when a thread comes back "
        "to this buffer, two turns later, the barrier of the turn between lies behind all others.",
    ),
).exercise("races")
SHARED_EXERCISES = CUDA_TRANSPOSE, CUDA_TWO_BUFFERS
