"""The simulator's counts against those of Nsight Compute on an H200, kernel by kernel."""

import pytest
from counter_kernels import COUNTER_KERNELS

from gemlite_edu import nsight

# Where nvcc makes other accesses than the text says. The report says so for the line.
DIFFERENT = {
    "loop of a different length in each lane": "lanes leave this loop at different turns",
    "guarded tail of a loop": "lanes leave this loop at different turns",
    "loop with an invariant scale": "x is loaded from the same addresses again and again",
    "branch with two loads on two lines": "two sides of a branch load x",
    "float4, x and w used": "not all fields are used",
    "shared float4, x and w used": "not all fields are used",
    "shared four neighbours": "neighbours in s come one after the other",
    "gemv_a16w16_coalesced, bfloat16, M 2, N 70, K 500": "lanes leave this loop",
    "gemv_a16w16_warp, bfloat16, M 2, N 70, K 500": "lanes leave this loop",
    "gemv_a16w16_shared, bfloat16, M 2, N 70, K 500": "lanes leave this loop",
}


def counters(report):
    """As in the record."""
    found = {}
    for space, cost in (("global", "sectors"), ("shared", "wavefronts")):
        for op in ("load", "store"):
            requests, units = report.total(space, op)
            found |= {f"{space} {op}s": requests, f"{space} {op} {cost}": units}
    return found


def test_every_kernel_is_recorded():
    assert set(nsight.recorded()["kernels"]) == set(COUNTER_KERNELS)
    assert set(DIFFERENT) < set(COUNTER_KERNELS)


@pytest.mark.parametrize("name", COUNTER_KERNELS)
def test_the_counts_are_the_hardwares(name):
    report = COUNTER_KERNELS[name].inspect()
    hardware = nsight.recorded()["kernels"][name]
    if name in DIFFERENT:
        assert counters(report) != hardware
        assert any(DIFFERENT[name] in note for note in report.notes)
    else:
        assert counters(report) == hardware
