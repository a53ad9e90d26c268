"""The estimated times: near recorded ones that the calibration never saw, and what they rest on."""

import math

import pytest

from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.runners.load import load
from gemlite_lab.bench import ladder
from gemlite_lab.bench.estimate import NotModelled, estimate
from gemlite_lab.bench.estimate.measured_kernels import measured_kernels
from gemlite_lab.bench.estimate.record import calibrated_on, calibration
from gemlite_lab.lesson.one_row import one_row_kernel
from gemlite_lab.lesson.variants import SETS
from gemlite_lab.lesson.variants.record import recorded

_NEAR = 1.25
_SHARE = 0.8
_SHARE_OF_SEEN = 0.9
_SEEN_SETS = ("first", "second")  # recorded before the calibration, which saw all their times
_WIDTHS = ("W16", "W8", "W6", "W4", "W3", "W1", "W7 sparse", "W2 g128")

_COPY = """\
__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  const int n = blockIdx.x * 32 + threadIdx.x;
  if (threadIdx.x < 32 && n < N) y[n] = static_cast<X_T>(scales[n] * 2.0f + zeros[n]);
}
"""


def _never_seen():
    """Recorded kernels that the calibration never saw: the GEMVs at 4096 x 4096, all rungs."""
    seen = set(calibrated_on())
    return [
        row
        for row in measured_kernels()
        if row.key not in seen
        and (row.kernel not in KERNELS or (row.N, row.K) == (4096, 4096) and row.weights in _WIDTHS)
    ]


@pytest.fixture(scope="module")
def ratios():
    """{row: estimate / measurement}, for one row of each key."""
    rows = {row.key: row for row in _never_seen()}.values()
    return {row: estimate(row.load(), row.N, row.K).us / row.us for row in rows}


def test_most_measurements_lie_in_the_interval(ratios):
    factor = calibration()[2]
    inside = [1 / factor <= ratio <= factor for ratio in ratios.values()]
    assert sum(inside) / len(inside) >= _SHARE


def _share_near(ratios):
    near = [abs(math.log(ratio)) <= math.log(_NEAR) for ratio in ratios]
    return sum(near) / len(near)


def test_gemvs_that_the_calibration_never_saw(ratios):
    found = [ratio for row, ratio in ratios.items() if row.kernel in KERNELS]
    assert len(found) >= 25
    assert _share_near(found) >= _SHARE


def test_rungs_that_the_calibration_never_saw(ratios):
    found = [ratio for row, ratio in ratios.items() if row.kernel not in KERNELS]
    assert len(found) >= 80
    assert _share_near(found) >= _SHARE


@pytest.mark.parametrize("name", SETS)
def test_variants(name):
    """Of a set that nobody measured yet nothing is tested."""
    rows, seen = recorded(name), set(calibrated_on())
    assert all((row.key in seen) == (name in _SEEN_SETS) for row in rows)
    found = [estimate(row.variant.kernel(), row.N, row.K).us / row.us for row in rows]
    least = _SHARE_OF_SEEN if name in _SEEN_SETS else _SHARE
    assert not found or _share_near(found) >= least


def test_kernels_are_told_apart(ratios):
    """A constant factor of the bytes would not do: times for the same bytes differ."""
    same = [row for row in ratios if (row.weights, row.N, row.K) == ("W4 g128", 4096, 4096)]
    estimated = [ratios[row] * row.us for row in same]
    assert max(estimated) > 2 * min(estimated)


def test_a_text_of_ones_own_is_counted():
    """It has 1 block of 32 warps, whose first one loads scales and zeros once: 2 requests."""
    found = estimate(one_row_kernel(_COPY, nbits=4), N=32, K=256)
    assert "0 waits for memory" in _chain(found).why and found.terms[0].why == "a launch"
    assert found.low < found.us < found.high
    start = calibration()[1].start
    assert start < found.us < 1.2 * start


@pytest.mark.parametrize(
    ("name", "base"),
    [("a piece a lane", "gemv_a16w16_warp"), ("x in columns", "gemv_a16w16_shared")],
)
def test_requests_and_conflicts_cost_time(name, base):
    slow, fast = (estimate(kernel, N=4096, K=1024) for kernel in (_variant(name), load(base)))
    assert slow.us > 2 * fast.us
    assert max(slow.terms, key=lambda term: term.us).name == "L1"


def _variant(name):
    return next(one for own in SETS.values() for one in own if one.name == name).kernel()


def _chain(found):
    return next(term for term in found.terms if term.name == "chain")


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("a tree", 32),  # nvcc does not know the step of the loop: each of 32 turns waits
        ("a barrier a turn", 64),  # two of 128 turns at a time
        ("four rows a warp", 128),  # five streams leave registers for the five loads of a turn
        ("a row a warp, 1 warp", 20),  # two streams leave them for 13 of 256
        ("a row a thread, 1 warp", 256),  # 4096 turns bring 256 new sectors to a lane
        ("four rows, 2 bits", 8),  # a turn's four rows come together
    ],
)
def test_a_warp_waits_for_loads_that_are_not_on_their_way_together(name, waits):
    assert f"warp's {waits} waits for memory" in _chain(estimate(_variant(name))).why


def test_all_blocks_copy_x_first():
    slow, usual = estimate(_variant("1 warp")), estimate(load("gemv_a16wn_fp32", nbits=4))
    assert "128 waits for x" in slow.terms[0].why and "4 waits for x" in usual.terms[0].why
    assert slow.us > 4 * usual.us


def _of_rung(name, N=4096):
    rung = next(rung for rung in ladder.rungs(4) if rung.name == name)
    return estimate(ladder.RungKernel(rung, 4), N, K=4096)


def test_who_asks_ahead_waits_for_the_first_words_alone():
    parameters = calibration()[1]
    early, late = _of_rung("x in shared memory"), _of_rung("K over 32 warps")
    assert early.terms[0].us == pytest.approx(parameters.start + parameters.read)
    assert late.terms[0].us == parameters.start
    assert " 0 waits" in _chain(early).why and " 0 waits" not in _chain(late).why


def test_a_next_wave_of_blocks_waits_again():
    assert "2 waves of a warp's 1 waits" in _chain(_of_rung("a block for each tile", 14336)).why


def test_the_table_adds_up():
    found = estimate(load("gemv_a16w16_shared"), N=4096, K=1024)
    start, *others = (term.us for term in found.terms)
    assert found.us == pytest.approx(start + math.hypot(*others))
    early = _of_rung("32 rows a warp")
    start, *others = (term.us for term in early.terms)
    assert early.us == pytest.approx(start + sum(us**4 for us in others) ** 0.25)
    text = str(found)
    assert all(term.name in text and term.why in text for term in found.terms)


def test_the_title_names_the_rung():
    rung = ladder.rungs(4)[4]
    found = estimate(ladder.RungKernel(rung, 4), N=4096, K=4096)
    assert found.title.startswith(f"{rung.name}, N = 4096")


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (lambda x: x, "takes CUDA kernels"),
        ("gemv_a16wn_fast", "tensor cores"),
        ("gemm_a16wn_fast", "tensor cores"),
    ],
)
def test_what_is_not_modelled(kernel, why):
    found = estimate(load(kernel, nbits=4) if isinstance(kernel, str) else kernel)
    assert isinstance(found, NotModelled)
    assert why in str(found)


def test_batches_and_atomics_are_not_modelled():
    assert "one row of x" in str(estimate(load("gemv_a16w16_warp"), M=2))
    adds = load("gemv_a16w16_warp").with_changed_source(
        lambda text: text.replace("sum = warp", "if (N < 0) atomicAdd(&sum, 1.0f); sum = warp")
    )
    assert "atomic" in str(estimate(adds))


def test_an_unknown_device():
    with pytest.raises(ValueError, match="H200"):
        estimate(load("gemv_a16w16_warp"), device="B200")
