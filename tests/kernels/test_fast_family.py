"""The kernels at the memory limit in the simulator: what each of them must do for all its cases."""

from itertools import combinations, product

import batch_cases
import fast_cases
import mma_cases
import pytest
import sparse_fast_cases
from fast_cases import BF16, FEW_BLOCKS, LITTLE_MEMORY, Case, inspect, is_right, make_case, run
from sparse_fast_cases import SparseCase

CASES = [*fast_cases.CASES, *sparse_fast_cases.CASES, *batch_cases.CASES]
CASES += mma_cases.CASES
INSPECTED_CASES = [
    Case(4, M=3, N=33, least_K=256, machine=FEW_BLOCKS),
    Case(2, M=9, N=70, least_K=320, group_size=64, x_dtype=BF16, machine=FEW_BLOCKS),
    Case(1, M=2, N=33, least_K=600, group_size=None),
    SparseCase(M=3, N=33, least_K=520, machine=FEW_BLOCKS),
    SparseCase(M=9, N=70, least_K=600, group_size=64, x_dtype=BF16, machine=FEW_BLOCKS),
    SparseCase(M=8, N=100, least_K=3000, machine=LITTLE_MEMORY),
    *(batch_cases.Case(4, rows + 1, 64, 256, rows=rows) for rows in (16, 64)),
    mma_cases.Case(4, M=33, N=130, least_K=1280, machine=mma_cases.ONE_BLOCK),
    mma_cases.Case(2, M=9, N=71, least_K=1024, group_size=64, x_dtype=BF16),
    mma_cases.Case(1, M=70, N=33, least_K=600, group_size=None),
]
OF_BATCHES = {name: v for name, v in batch_cases.FACTORS.items() if name != "rows"}
FACTORS = {
    "dense": (fast_cases.CASES, fast_cases.FACTORS),
    "sparse": (sparse_fast_cases.CASES, sparse_fast_cases.SPARSE_FACTORS),
    "batches": (batch_cases.CASES, OF_BATCHES),
    "mma": (mma_cases.CASES, mma_cases.FACTORS),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs))


@pytest.mark.parametrize("case", INSPECTED_CASES, ids=str)
def test_it_is_safe(case):
    report, inputs = inspect(case)
    assert report.findings == () and is_right(case, inputs, report.y)


@pytest.mark.parametrize("cases, factors", FACTORS.values(), ids=FACTORS.keys())
def test_any_two_values_of_two_factors_meet(cases, factors):
    for a, b in combinations(factors, 2):
        met = {(getattr(case, a), getattr(case, b)) for case in cases}
        assert {*product(factors[a], factors[b])} <= met, (a, b)
