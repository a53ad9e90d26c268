"""The kernels' headers say what they do to memory: `// claim:` lines, asked of the simulator."""

import re

import pytest
import torch

from gemlite_edu import load, sources
from gemlite_edu.kernels import KERNELS
from gemlite_edu.packing import WarpInterleaved

CLAIM = re.compile(r"^// claim: (.+)$", re.MULTILINE)
SECTORS = re.compile(r"(\w+) (\d+) sectors/request")
CONFLICT_FREE = re.compile(r"(\w+) conflict-free")
VARIANTS = [
    (name, nbits) for name in KERNELS for nbits in ([None] if "w16" in name else range(1, 9))
]


def claims_of(text):
    return [claim.strip() for line in CLAIM.findall(text) for claim in line.split(",")]


def is_true(claim, report):
    """Whether the report bears the claim out; ValueError for a claim that says nothing known."""
    if sectors := SECTORS.fullmatch(claim):
        loads = report.of(sectors[1])
        return all(line.per_request == int(sectors[2]) for line in loads)
    if array := CONFLICT_FREE.fullmatch(claim):
        found = [line for line in report.lines if line.name == array[1]]
        return bool(found) and all(line.conflict_degree == 1 for line in found)
    raise ValueError(f"nobody can check the claim {claim!r}")


def inspect(name, nbits, x_dtype, N, tiles):
    """A report with whole warps and whole tiles, of which the claims speak."""
    kernel = load(name, nbits=nbits, x_dtype=x_dtype)
    K = tiles * (WarpInterleaved(nbits).tile if nbits else 32)
    x = torch.ones(1, K, dtype=x_dtype)
    if nbits is None:
        return kernel.inspect(x, torch.ones(N, K, dtype=x_dtype))
    W = torch.zeros(WarpInterleaved(nbits).packed_shape(N, K), dtype=torch.int32)
    return kernel.inspect(x, W, 1.0, 0.0)


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_claims_something(name):
    assert claims_of(sources.expand(name))


@pytest.mark.parametrize("x_dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name, nbits", VARIANTS)
def test_the_claims_are_true(name, nbits, x_dtype):
    for N, tiles in ((64, 2), (256, 3)):
        report = inspect(name, nbits, x_dtype, N, tiles)
        for claim in claims_of(sources.expand(name)):
            assert is_true(claim, report), f"{claim}\n{report}"


def test_a_false_claim_is_found():
    report = inspect("gemv_a16w16_coalesced", None, torch.float16, 64, 2)
    assert not is_true("W 32 sectors/request", report)
    assert not is_true("nowhere conflict-free", report)
    with pytest.raises(ValueError, match="nobody can check"):
        is_true("W is read fast", report)
