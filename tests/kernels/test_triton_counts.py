"""Loads and operations of an interpreted kernel are counted, one for one."""

import pytest
import torch
import triton.language as tl

from gemlite_edu import quantize_linear
from gemlite_edu.kernels.triton.configs import default_config
from gemlite_edu.operators.triton_product import matmul
from gemlite_edu.operators.weight import PackedWeight
from gemlite_edu.runners.interpreter.loads import count_loads
from gemlite_edu.runners.interpreter.operations import count_operations

N, K = 32, 256
X = torch.ones(2, K).half()
Q = quantize_linear(torch.randn(N, K, generator=torch.Generator().manual_seed(0)), 4, 128)
CONFIG = default_config("gemv", 2, N, interpreted=True) | {"BLOCK_N": 16}


def counted_loads(name, word_bits):
    weight = PackedWeight.from_quantized(Q, word_bits)
    tensors = {"words": weight.words, "scales": weight.scales, "x": X}
    with count_loads(tensors) as loads:
        matmul(name, X, weight, CONFIG)
    return loads


@pytest.mark.parametrize("name, word_bits, scales", [
    ("gemv", 32, 2), ("gemv_revsplitk", 32, 2), ("gemv", 16, 4), ("gemv_revsplitk", 16, 2),
    ("gemv", 8, 8), ("gemv_revsplitk", 8, 4),
])  # fmt: skip
def test_each_load_of_each_program_counts(name, word_bits, scales):
    loads, programs = counted_loads(name, word_bits), 4
    tile = word_bits // 4 * 16
    assert loads["words"].times == programs * (K // tile)
    assert loads["scales"].times == programs * scales
    assert loads["x"].times == programs * K // 16


def test_bytes_are_those_asked_for():
    loads = counted_loads("gemv", 32)
    assert loads["words"].nbytes == 2 * N * K // 2  # once for each row of x
    assert loads["scales"].nbytes == 2 * N * 2 * 4
    assert loads["x"].nbytes == 2 * 2 * K * 2  # once for each block of rows of W


def test_nothing_is_counted_afterwards():
    loads = counted_loads("gemv", 32)
    before = loads["words"].times
    counted_loads("gemv", 32)
    assert loads["words"].times == before


def test_a_shift_per_weight_is_what_a_replaced_unpack_costs():
    def unpack(words, field: tl.constexpr, NBITS: tl.constexpr):
        return (words >> (NBITS * field)) & ((1 << NBITS) - 1)

    weight, weights = PackedWeight.from_quantized(Q), 2 * N * K
    with count_operations() as in_place:
        matmul("gemv", X, weight, CONFIG)
    with count_operations() as shifted:
        matmul("gemv", X, weight, CONFIG, replace={"unpack": unpack})
    assert (in_place["mask"], in_place["shift"], in_place["convert"]) == (weights, 0, weights)
    assert shifted == in_place | {"shift": weights}
