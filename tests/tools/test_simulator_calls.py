import sys
from pathlib import Path

from gemlite_edu import load

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

import simulator_calls


def test_both_ways_of_a_call_are_measured(monkeypatch):
    monkeypatch.setattr(simulator_calls, "_CALLS", 1)
    kernel = load("gemv_a16wn_fp32", 4, replace=simulator_calls.REPLACE, group_size=64)
    *_, row = simulator_calls.table(kernel, [(2, 40)])
    M, N, new, kept, of_output = [float(word) for word in row.strip("| ").split(" | ")]
    assert (M, N) == (2, 40) and new > 0 and kept > 0 and of_output > 0
