"""The simulator confirms the memory traffic that kernels' headers state in `// claim:` lines."""

import re
from itertools import cycle, product

import pytest
import torch

from gemlite_edu import load
from gemlite_edu.kernels import sources
from gemlite_edu.kernels.gemv import KERNELS

CLAIM = re.compile(r"^// claim: (.+)$", re.MULTILINE)
SECTORS = re.compile(r"(\w+) (\d+)(?: or (\d+))? sectors/request")
CONFLICT_FREE = re.compile(r"(\w+) conflict-free")
# Types of x of one size have the same traffic, so that each width is inspected with one of them.
BUILDS = [
    (name, *build)
    for name, launch in KERNELS.items()
    for build in (
        zip(range(1, 9), cycle(launch.x_dtypes))
        if launch.takes_nbits
        else product([None], launch.x_dtypes)
    )
]


def claims_of(text):
    return [claim.strip() for line in CLAIM.findall(text) for claim in line.split(",")]


def is_true(claim, report):
    """Whether the report bears the claim out; ValueError for a claim that says nothing known."""
    if sectors := SECTORS.fullmatch(claim):
        loads = report.of(sectors[1])
        claimed = {float(number) for number in sectors.groups()[1:] if number}
        return all(line.per_request in claimed for line in loads)
    if array := CONFLICT_FREE.fullmatch(claim):
        found = [line for line in report.lines if line.name == array[1]]
        return bool(found) and all(line.conflict_degree == 1 for line in found)
    raise ValueError(f"nobody can check the claim {claim!r}")


def inspect(name, nbits, x_dtype, N, tiles, M=1, group_size=None):
    """A report with whole warps and whole tiles, of which the claims speak."""
    kernel, launch = load(name, nbits, x_dtype, group_size=group_size), KERNELS[name]
    if not launch.is_packed:
        x = torch.ones(M, tiles * 32, dtype=x_dtype)
        return kernel.inspect(x, torch.ones(N, tiles * 32, dtype=x_dtype))
    layout = kernel.layout(None)
    x = torch.ones(M, tiles * layout.tile, dtype=x_dtype)
    shape = layout.packed_shape(N, tiles * layout.tile)
    any_words = torch.randint(-(2**31), 2**31, shape, generator=torch.Generator().manual_seed(0))
    return kernel.inspect(x, any_words.int(), 1, 0)


def assert_claims(name, report):
    for claim in claims_of(sources.expand(name)):
        assert is_true(claim, report), f"{claim}\n{report}"


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_claims_something(name):
    assert claims_of(sources.expand(name))


@pytest.mark.parametrize("name, nbits, x_dtype", BUILDS)
def test_the_claims_are_true(name, nbits, x_dtype):
    for N, tiles in ((64, 2), (256, 3)):
        assert_claims(name, inspect(name, nbits, x_dtype, N, tiles))


@pytest.mark.parametrize("group_size", [16, 32, 64])
@pytest.mark.parametrize("name", [name for name, launch in KERNELS.items() if launch.is_packed])
def test_the_claims_are_true_of_many_rows_and_groups(name, group_size):
    nbits = 4 if KERNELS[name].takes_nbits else None
    x_dtype = KERNELS[name].x_dtypes[0]
    assert_claims(name, inspect(name, nbits, x_dtype, 64, 2, M=3, group_size=group_size))


@pytest.mark.parametrize("name", [name for name, launch in KERNELS.items() if launch.is_packed])
def test_the_claims_are_true_of_every_turn_of_staging(name):
    nbits = 4 if KERNELS[name].takes_nbits else None
    x_dtype = KERNELS[name].x_dtypes[0]
    layout = load(name, nbits, x_dtype).layout(None)
    tiles = 2 + 6144 // layout.tile  # 8 rows of int8 that fill the shared memory, and 2 more tiles
    assert_claims(name, inspect(name, nbits, x_dtype, 32, tiles, M=8))


def test_a_false_claim_is_found():
    report = inspect("gemv_a16w16_coalesced", None, torch.float16, 64, 2)
    assert not is_true("W 32 sectors/request", report)
    assert not is_true("nowhere conflict-free", report)
    with pytest.raises(ValueError, match="nobody can check"):
        is_true("W is read fast", report)
