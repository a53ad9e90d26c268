"""Exercises of the lesson cuda_c: ten small kernels, one row each."""

import torch

from gemlite_edu.runners.simulator.use_of_results import SHARED, SHUFFLES
from gemlite_lab.checker.cuda_c_numbers import (
    POWERS,
    RATIOS,
    TRIPLES,
    floats,
    halves,
    integers,
    quarters,
    summands,
    with_rare,
)
from gemlite_lab.checker.exercise import CheckFailed
from gemlite_lab.checker.small_kernels import SmallKernel

_BEYOND_16_BITS = 65_664


def _fused(a, b, c, N):
    return (a.float() * b.float() + c.float()).half()


def _codes_in(words, N):
    """N codes of 4 bits, eight of each word, the first one in the highest bits."""
    return ((words[:, None] >> torch.arange(28, -1, -4, dtype=torch.int32)) & 15).flatten()[:N]


def _lane_sums(x, N):
    lanes = x.view(-1, 32)
    return lanes[:, 0] + lanes[:, 16]


def _judge_reads_of_tile(report, case):
    loads, _ = report.total("shared", "load")
    has_barrier = len(report.phases) > 1  # without one a compiler need not load what it stored
    if has_barrier and not loads:
        raise CheckFailed(
            "cuda_reverse gives the right numbers without reading tile: read them from there, "
            "since this exercise is about it"
        )


_ROWS = (
    SmallKernel(
        name="cuda_index",
        parameters="const float* x, float* y, int N",
        inputs={"x": floats},
        right=lambda x, N: 2 * x,
        launches=((64, 320), (32, 96), (128, _BEYOND_16_BITS)),
        teaches="threadIdx",
        hints=(
            "How many threads stand in the blocks before yours? Add your own place in your block.",
            "Block 0 has elements 0 to blockDim.x - 1, block 1 the next blockDim.x of them.",
            "Multiply the number of your block by the number of threads in a block.",
        ),
    ),
    SmallKernel(
        name="cuda_guard",
        parameters="const float* x, const float* z, float* y, int N",
        inputs={"x": floats, "z": floats},
        right=lambda x, z, N: x + z,
        launches=((64, 1000), (64, 1), (32, 77), (128, _BEYOND_16_BITS + 1)),
        hints=(
            "The last block may have threads for which there is no element. What must they do?",
            "The elements are 0 to N - 1: element N is not there.",
            "One if with i and N in parentheses, and behind it one statement that writes y[i].",
        ),
    ),
    SmallKernel(
        name="cuda_ratio",
        parameters="const int* total, const int* count, float* y, int N",
        inputs={
            "total": with_rare([total for total, _ in RATIOS], integers(-(2**24) + 1, 2**24 - 1)),
            "count": with_rare([count for _, count in RATIOS], integers(2, 999)),
        },
        right=lambda total, count, N: total.float() / count.float(),
        launches=((64, 200), (32, 33), (128, _BEYOND_16_BITS + 1)),
        hints=(
            "Dividing an int by an int gives an int. What must one of the two be before?",
            "static_cast<float>(n) is the float with the value of the int n.",
            "Convert an operand, not the quotient: in the quotient the fraction is gone already.",
        ),
    ),
    SmallKernel(
        name="cuda_half",
        parameters="const half* a, const half* b, const half* c, half* y, int N",
        inputs={
            "a": with_rare([a for a, _, _ in TRIPLES], halves(300, -300)),
            "b": with_rare([b for _, b, _ in TRIPLES], halves(300, 300)),
            "c": with_rare([c for _, _, c in TRIPLES], halves(-60_000, 60_000)),
        },
        right=_fused,
        launches=((64, 200), (32, 33), (128, _BEYOND_16_BITS + 1)),
        hints=(
            "A product of two halves may be too large for a half, or need more digits than it has.",
            "Make floats of all three numbers first. Then multiply and add.",
            "__half2float(h) gives a float, __float2half(f) a half, each for one number.",
        ),
    ),
    SmallKernel(
        name="cuda_row_column",
        parameters="const float* x, const float* scale, const float* bias, float* y, int N, int K",
        inputs={
            "x": with_rare(POWERS, quarters(9)),
            "scale": with_rare(POWERS, quarters(9, lambda N, K: (N,))),
            "bias": with_rare(POWERS, quarters(9, lambda N, K: (K,))),
        },
        right=lambda x, scale, bias, N, K: x * scale[:, None] + bias,
        launches=(
            (64, 20, 20),
            (128, 7, 9401),
            (32, 20, 49),
            (64, 60, 41),
            (128, 2500, 1),
            (128, 1, _BEYOND_16_BITS + 1),
        ),
        hints=(
            "With K = 5, in which row and which column are elements 4, 5 and 12?",
            "How many whole rows lie before element i, and how many elements are left then?",
            "i / K counts whole rows. What is left of i is the remainder.",
        ),
    ),
    SmallKernel(
        name="cuda_row_sum",
        parameters="const float* x, float* y, int N, int K",
        inputs={"x": summands},
        right=lambda x, N, K: x.sum(1),
        launches=(
            (64, 70, 70),
            (32, 5, 300),
            (64, 100, 3),
            (128, _BEYOND_16_BITS, 1),
            (32, 2, _BEYOND_16_BITS),
        ),
        blocks=lambda threads, N, K: -(-N // threads),
        hints=(
            "Where does your row begin? Row 1 begins behind the K elements of row 0.",
            "A loop over k from 0 to K - 1; each turn adds one element to sum.",
            "The element in column k of your row is number row * K + k.",
        ),
    ),
    SmallKernel(
        name="cuda_field",
        parameters="const uint32_t* words, int* y, int N",
        inputs={
            "words": with_rare(
                (0, -1, 0x01234567, -0x76543211, -(2**31), 2**31 - 1),
                integers(-(2**31), 2**31 - 1, shape=lambda N: (-(-N // 8),)),
            )
        },
        right=_codes_in,
        launches=((64, 200), (32, 8), (128, _BEYOND_16_BITS + 3)),
        hints=(
            "Eight codes share a word: which word has code i, and which of its eight codes is it?",
            "Code 0 of a word must move down by 28 bits, code 1 by 24, code 7 by none.",
            "Shift the word to the right, then keep the lowest four bits with & 15.",
        ),
    ),
    SmallKernel(
        name="cuda_pack",
        parameters="const uint8_t* codes, uint8_t* y, int N",
        inputs={"codes": integers(0, 15, torch.uint8, shape=lambda N: (2 * N,))},
        right=lambda codes, N: codes[::2] << 4 | codes[1::2],
        launches=((64, 200), (32, 33), (128, _BEYOND_16_BITS + 1)),
        hints=(
            "Which two codes belong to byte 0, which to byte 1, which to byte i?",
            "The first of the two moves up by the width of a code; the second stays where it is.",
            "<< moves up, | puts both into one number. With + in place of |, mind the parentheses.",
        ),
    ),
    SmallKernel(
        name="cuda_lanes",
        parameters="const float* x, float* y, int N",
        inputs={"x": lambda generator, N: floats(generator, N, run=32)},
        right=_lane_sums,
        launches=((64, 640), (96, 288), (32, 32), (128, _BEYOND_16_BITS)),
        teaches="__shfl",
        uses=SHUFFLES,
        hints=(
            "First every lane takes part in the shuffle. Then only one lane of each warp writes.",
            "Lane 0 wants the value of the lane that is 16 further up.",
            "i / 32 numbers the warps of all blocks; lane 0 is where the remainder is 0.",
        ),
    ),
    SmallKernel(
        name="cuda_reverse",
        parameters="const float* x, float* y, int N",
        inputs={"x": floats},
        right=lambda x, N: x.view(-1, 64).flip(1).flatten(),
        launches=((64, 64 * 5), (64, 64), (64, _BEYOND_16_BITS)),
        teaches="__syncthreads",
        uses=SHARED,
        judge=_judge_reads_of_tile,
        hints=(
            "Your thread needs what another thread of its block has put into the array.",
            "No thread may read before all have written: that takes one statement.",
            "Thread 0 reads element 63, thread 63 reads element 0, thread t reads 63 less t.",
        ),
    ),
)
CUDA_C_EXERCISES = tuple(row.exercise("cuda_c") for row in _ROWS)
