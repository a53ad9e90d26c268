"""Loads that a compiler hides: an inspected run makes them where `loads_kept` asks for them."""

import pytest

from gemlite_edu.runners.simulator.kept_loads import loads_kept

HIDDEN = {
    "a load that nothing uses": "const float a = x[t]; if (t < 64) y[t] = 1.0f;",
    "a load that only one side uses": "const float a = x[t]; if (t < 64) y[t] = a;",
    "a load before a thread ends": "const float a = x[t]; if (t >= 64) return; y[t] = a;",
    "a load in a function": "const float a = at(x, t); if (t < 64) y[t] = a;",
}
AT = "__device__ float at(const float* x, int t) { return x[t]; }"


@pytest.mark.parametrize("statements", HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_load_outside_is_found_only_where_loads_are_kept(inspect, statements):
    assert not inspect(statements, before=AT, threads=96)[0].findings
    with loads_kept():
        report, _ = inspect(statements, before=AT, threads=96)
    assert "thread 64 reads x[64], outside x" in report.findings[0].sentence


def test_a_report_counts_what_is_left_of_the_loads(inspect):
    statements = "const float a = x[(t + 1) % 64]; y[t] = x[t];"
    assert inspect(statements)[0].total("global", "load")[0] == 2
    with loads_kept():
        assert inspect(statements)[0].total("global", "load")[0] == 4


def test_a_load_whose_value_the_text_multiplies_away_is_not_seen(inspect):
    """The limit that docs/simulator.md names: g++ drops it while it reads the text."""
    with loads_kept():
        report, _ = inspect("const int* bits = (const int*)x; y[t] = bits[t] | (bits[t + 1] & 0);")
    assert not report.findings
