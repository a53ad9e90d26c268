"""Exercises of the lesson cuda_c: ten small kernels, one row each."""

import torch

from gemlite_lab.checker.small_kernels import SmallKernel


def _floats(shape=lambda *sizes: sizes):
    """Quarters, not 0, as floats; their sums and products are exact."""

    def draw(generator, *sizes):
        numbers = torch.randint(1, 400, shape(*sizes), generator=generator)
        signs = torch.randint(0, 2, shape(*sizes), generator=generator) * 2 - 1
        return numbers * signs / 4

    return draw


def _integers(low, high, dtype=torch.int32, shape=lambda *sizes: sizes):
    """Whole numbers from low to high."""

    def draw(generator, *sizes):
        return torch.randint(low, high + 1, shape(*sizes), generator=generator).to(dtype)

    return draw


def _sixteenths(generator, N):
    """Multiples of 1/16 as halves; every seventh is 300, and 300 * 300 exceeds 65504."""
    numbers = torch.randint(-900, 901, (N,), generator=generator) / 16
    numbers[::7] = 300
    return numbers.half()


def _against_large_products(generator, N):
    """Multiples of 1/16 as halves; -60000 where `_sixteenths` has 300."""
    numbers = torch.randint(-900, 901, (N,), generator=generator) / 16
    numbers[::7] = -60000
    return numbers.half()


def _fused(a, b, c):
    return (a.float() * b.float() + c.float()).half()


def _codes_in(words):
    """The eight 4-bit codes of each word, the first one in the highest bits."""
    return ((words[:, None] >> torch.arange(28, -1, -4, dtype=torch.int32)) & 15).flatten()


def _lane_sums(x):
    lanes = x.view(-1, 32)
    return lanes[:, 0] + lanes[:, 16]


_ROWS = (
    SmallKernel(
        name="cuda_index",
        parameters="const float* x, float* y, int N",
        inputs={"x": _floats()},
        right=lambda x: 2 * x,
        launches=((64, 320), (32, 96), (128, 128)),
        hints=(
            "How many threads stand in the blocks before yours? Add your own place in your block.",
            "Block 0 has elements 0 to blockDim.x - 1, block 1 the next blockDim.x of them.",
            "Multiply the number of your block by the number of threads in a block.",
        ),
    ),
    SmallKernel(
        name="cuda_guard",
        parameters="const float* x, const float* z, float* y, int N",
        inputs={"x": _floats(), "z": _floats()},
        right=lambda x, z: x + z,
        launches=((64, 1000), (64, 1), (32, 77), (128, 256)),
        hints=(
            "The last block may have threads for which there is no element. What must they do?",
            "The elements are 0 to N - 1: element N is not there.",
            "One if with i and N in parentheses, and behind it one statement that writes y[i].",
        ),
    ),
    SmallKernel(
        name="cuda_ratio",
        parameters="const int* total, const int* count, float* y, int N",
        inputs={"total": _integers(-99_999, 99_999), "count": _integers(2, 99)},
        right=lambda total, count: total.float() / count.float(),
        launches=((64, 200), (32, 33), (128, 1)),
        hints=(
            "Dividing an int by an int gives an int. What must one of the two be before?",
            "static_cast<float>(n) is the float with the value of the int n.",
            "Convert an operand, not the quotient: in the quotient the fraction is gone already.",
        ),
    ),
    SmallKernel(
        name="cuda_half",
        parameters="const half* a, const half* b, const half* c, half* y, int N",
        inputs={"a": _sixteenths, "b": _sixteenths, "c": _against_large_products},
        right=_fused,
        launches=((64, 200), (32, 33), (128, 1)),
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
            "x": _floats(),
            "scale": _floats(lambda N, K: (N,)),
            "bias": _floats(lambda N, K: (K,)),
        },
        right=lambda x, scale, bias: x * scale[:, None] + bias,
        launches=((64, 20, 20), (64, 7, 50), (32, 33, 8), (128, 100, 1)),
        hints=(
            "With K = 5, in which row and which column are elements 4, 5 and 12?",
            "How many whole rows lie before element i, and how many elements are left then?",
            "i / K counts whole rows. What is left of i is the remainder.",
        ),
    ),
    SmallKernel(
        name="cuda_row_sum",
        parameters="const float* x, float* y, int N, int K",
        inputs={"x": _floats()},
        right=lambda x: x.sum(1),
        launches=((64, 70, 70), (32, 5, 100), (64, 100, 3), (128, 200, 1)),
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
        inputs={"words": _integers(-(2**31), 2**31 - 1, shape=lambda N: (N // 8,))},
        right=_codes_in,
        launches=((64, 8 * 25), (32, 8), (128, 8 * 100)),
        hints=(
            "Eight codes share a word: which word has code i, and which of its eight codes is it?",
            "Code 0 of a word must move down by 28 bits, code 1 by 24, code 7 by none.",
            "Shift the word to the right, then keep the lowest four bits with & 15.",
        ),
    ),
    SmallKernel(
        name="cuda_pack",
        parameters="const uint8_t* codes, uint8_t* y, int N",
        inputs={"codes": _integers(0, 15, torch.uint8, shape=lambda N: (2 * N,))},
        right=lambda codes: codes[::2] << 4 | codes[1::2],
        launches=((64, 200), (32, 33), (128, 1)),
        hints=(
            "Which two codes belong to byte 0, which to byte 1, which to byte i?",
            "The first of the two moves up by the width of a code; the second stays where it is.",
            "<< moves up, | puts both into one number. With + in place of |, mind the parentheses.",
        ),
    ),
    SmallKernel(
        name="cuda_lanes",
        parameters="const float* x, float* y, int N",
        inputs={"x": _floats()},
        right=_lane_sums,
        launches=((64, 640), (96, 288), (32, 32)),
        teaches="__shfl",
        hints=(
            "First every lane takes part in the shuffle. Then only one lane of each warp writes.",
            "Lane 0 wants the value of the lane that is 16 further up.",
            "i / 32 numbers the warps of all blocks; lane 0 is where the remainder is 0.",
        ),
    ),
    SmallKernel(
        name="cuda_reverse",
        parameters="const float* x, float* y, int N",
        inputs={"x": _floats()},
        right=lambda x: x.view(-1, 64).flip(1).flatten(),
        launches=((64, 64 * 5), (64, 64), (64, 64 * 33)),
        teaches="__syncthreads",
        hints=(
            "Your thread needs what another thread of its block has put into the array.",
            "No thread may read before all have written: that takes one statement.",
            "Thread 0 reads element 63, thread 63 reads element 0, thread t reads 63 less t.",
        ),
    ),
)
CUDA_C_EXERCISES = tuple(row.exercise("cuda_c") for row in _ROWS)
