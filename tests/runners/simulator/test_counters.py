"""The simulator's counts against those of Nsight Compute on an H200, kernel by kernel."""

import pytest
from counter_kernels import COUNTER_KERNELS, DIFFERENT

from gemlite_edu.runners import nsight


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
