"""A score says how near a right kernel is to the least, and why a wrong one gets none."""

from functools import partial

import pytest
import torch
from replayed_calls import ReplayedCalls

from gemlite_edu import load
from gemlite_lab.bench import measuring
from gemlite_lab.bench import run as run_module
from gemlite_lab.bench.card import Card
from gemlite_lab.bench.estimate import estimate
from gemlite_lab.bench.score import NoScore, rows, score_of, scoring
from gemlite_lab.lesson.one_row import one_row_kernel

N, K = 64, 1024
FP32 = "gemv_a16wn_fp32"
BYTES = K * 2 + N * K // 2 + 2 * N * 4 + N * 2  # x, W, scales and zeros, y
CARD = Card("a card of a test", l2_bytes=10_000, read_gb_per_s=1000, matmul_tflops=1, driver="1")


def changed(name, *edits, nbits=None):
    """The kernel `name` after edits (old, new) of its text."""

    def change(source):
        for old, new in edits:
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        return source

    return load(name, nbits).with_changed_source(change)


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    """Scores are estimated, on a machine with a GPU, too."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture(scope="module")
def fp32():
    return score_of(load(FP32, nbits=4, device="cpu"), N, K)


def test_bytes_are_those_of_all_tensors_over_those_of_the_sectors(fp32):
    report_bytes = N * K // 2 + 2 * K * 2 + 3 * N * 32  # two blocks copy x; a sector a number
    assert (fp32.counts.least, fp32.counts.moved) == (BYTES, report_bytes)
    assert fp32.bytes == pytest.approx(BYTES / report_bytes)


def test_instructions_are_counted_as_for_the_estimate(fp32):
    (issue,) = (term for term in estimate(load(FP32, nbits=4), N, K).terms if term.name == "issue")
    of_a_block = int(issue.why.partition(" ")[0].replace(",", ""))
    assert fp32.counts.instructions == pytest.approx(2 * of_a_block * 32 / (N * K), rel=0.01)
    assert fp32.instructions == pytest.approx(fp32.room / fp32.counts.instructions)


def test_the_room_for_instructions_is_that_of_the_lesson_on_instructions(fp32):
    per_second = 4 * 132 * 1.98e9 * 32
    assert fp32.room == pytest.approx(per_second * BYTES / (N * K) / 4512.3e9)


def test_the_time_is_the_estimate_and_its_part_that_of_the_memory(fp32):
    estimated = estimate(load(FP32, nbits=4), N, K)
    assert (fp32.row.p20_us, fp32.row.p50_us, fp32.row.p80_us) == (
        round(estimated.low, 3),
        round(estimated.us, 3),
        round(estimated.high, 3),
    )
    assert fp32.row.device == "NVIDIA H200" and not fp32.is_measured
    assert fp32.time == pytest.approx(BYTES / 4512.3e3 / estimated.us, rel=0.05)


def test_the_table_says_what_each_line_means(fp32):
    title, *lines = str(fp32).splitlines()
    assert title == "gemv_a16wn_fp32, W4, N = 64, K = 1024: right"
    assert [line.split()[0] for line in lines] == ["bytes", "instructions", "conflicts", "time"]
    assert "all tensors once are 35,456 bytes" in lines[0]
    assert "while an H200 reads a weight, it can start" in lines[1]
    assert "100%" in lines[2] and "without bank conflicts" in lines[2]
    assert "estimated for NVIDIA H200" in lines[3]
    assert max(map(len, lines)) <= 100


def test_uncoalesced_words_cost_bytes():
    naive = score_of(load("gemv_a16w16_naive"), N, K)
    assert naive.bytes < 0.1
    assert naive.conflicts is None and "no access to shared memory" in str(naive)


def test_bank_conflicts_are_counted():
    column = "x_shared[(k % 32) * (K / 32) + k / 32]"
    score = score_of(
        changed(
            "gemv_a16w16_shared",
            (
                "    x_shared[k] = k < K ? x[k] : static_cast<X_T>(0.0f);\n",
                f"    {column} = x[k];\n",
            ),
            ("to_float(x_shared[k])", f"to_float({column})"),
        ),
        N,
        K,
    )
    assert score.conflicts < 0.2


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gemv_a16w16_shared", {}),
        ("gemv_a16w16_shared", {"x_dtype": torch.bfloat16}),
        (FP32, {"nbits": 3, "group_size": 64}),
        ("gemv_a16wn_half2", {"nbits": 2}),
        ("gemv_a8wn_dp4a", {"nbits": 8}),
        ("gemv_a16w3_planes", {}),
        ("gemv_a16w7_sparse", {}),
    ],
)
def test_every_family_of_gemvs_has_a_score(name, options):
    score = score_of(load(name, **options), N, K)
    assert score.time and score.bytes > 0.3 and score.counts.instructions > 3


def test_what_is_not_modelled_says_why_and_has_no_time():
    score = score_of(load("gemv_a16wn_fast", nbits=4, group_size=128), N, K)
    assert score.time is None and score.instructions is None and score.bytes > 0.5
    lines = str(score).splitlines()
    assert "not counted: nobody counts its asm" in lines[2] and "not modelled: " in lines[4]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("sum * scales[n]", "sum", r"y\[0, 0\] is .* and the product is .*; 64 of 64 outputs"),
        ("if (lane_id == 0) y", "if (lane_id == 0 && n != 5) y", "the simulator found a fault"),
    ],
)
def test_a_wrong_kernel_gets_the_sentence_that_says_what_is_wrong(old, new, why):
    with pytest.raises(NoScore, match=why):
        score_of(one_row_kernel(_OWN.replace(old, new), nbits=4), N, K)


def test_an_output_a_little_too_far_off_is_wrong():
    with pytest.raises(NoScore, match="1 of 64 outputs are farther off than rounding allows"):
        score_of(
            one_row_kernel(_OWN.replace("scales[n]", "scales[n] * (n == 9 ? 1.002f : 1)"), 4), N, K
        )


@pytest.mark.parametrize("kernel", [lambda x: x, "gemm_a16wn_fast"])
def test_other_kernels_get_one_sentence(kernel):
    with pytest.raises(TypeError, match="score takes a GEMV from load or one_row_kernel"):
        score_of(load(kernel, nbits=4) if isinstance(kernel, str) else kernel, N, K)


def test_shapes_that_do_not_fit_get_one_sentence():
    with pytest.raises(ValueError, match="N must be an int of 1 or more, got 0"):
        score_of(load(FP32, nbits=4), 0, K)
    with pytest.raises(ValueError, match="K must be a multiple of the group size 128, got 100"):
        score_of(load(FP32, nbits=4, group_size=128), N, 100)


class TooFast(ReplayedCalls):
    microseconds = 0.001


@pytest.fixture
def stand_in(monkeypatch, no_gpu):
    """A GPU's parts of the harness: kernels run in the simulator, and the clock is made up."""

    def with_clock(clock):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(rows, "_this_card", lambda: CARD)
        monkeypatch.setattr(run_module.torch, "Generator", _generator_of_cpu)
        measure = partial(measuring.measure, make_clock=clock)
        monkeypatch.setattr(run_module, "measure", measure)
        monkeypatch.setattr(measuring, "clocks", lambda: (1980, 3201))

    return with_clock


class _generator_of_cpu(torch.Generator):
    def __new__(cls, device="cpu"):
        return super().__new__(cls, "cpu")


def test_with_a_gpu_the_harness_measures(stand_in):
    stand_in(ReplayedCalls)
    score = score_of(load("gemv_a16w16_shared"), N, K)
    least = 2 * (N * K + N + K)
    assert score.is_measured and score.row.device == CARD.name
    assert (score.row.p50_us, score.row.bytes, score.row.sm_mhz) == (1.0, least, 1980)
    assert score.time == pytest.approx(least / 1e6, rel=1e-3)  # of 1000 GB/s
    assert "1.0 us (1.0 to 1.0), measured on a card of a test; reading" in str(score)


def test_a_time_that_cannot_be_true_is_refused_with_its_reason(stand_in):
    stand_in(TooFast)
    score = score_of(load("gemv_a16w16_shared"), N, K)
    assert score.time is None
    assert "it does not read them all from memory" in str(score)


def test_few_weights_are_not_measured_because_they_stay_in_the_caches(stand_in):
    stand_in(ReplayedCalls)
    score = score_of(load("gemv_a16w16_shared"), 1, 8)
    assert score.time is None and score.is_measured
    assert "it takes 1,177 copies of so few weights to keep them out of the caches" in str(score)


def test_a_kernel_for_a_gpu_is_counted_on_the_cpu(stand_in, monkeypatch):
    stand_in(ReplayedCalls)
    kernel, of_gpu = load("gemv_a16w16_shared"), []
    kernel.device = "cuda"
    expected = score_of(load("gemv_a16w16_shared", device="cpu"), N, K)
    monkeypatch.setattr(
        scoring, "measured_row", lambda given, *_: of_gpu.append(given) or expected.row
    )
    assert score_of(kernel, N, K).counts == expected.counts
    assert of_gpu == [kernel] and kernel.device == "cuda"


def test_a_kernel_for_the_cpu_is_not_measured(stand_in):
    stand_in(ReplayedCalls)
    assert not score_of(load("gemv_a16w16_shared", device="cpu"), N, K).is_measured


_OWN = """\
__global__ void gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
                     const float* zeros, X_T* y, int N, int K) {
  const int lane_id = threadIdx.x % WARP_SIZE, tiles = ceil_div(K, 256);
  const int n = blockIdx.x * 32 + threadIdx.x / WARP_SIZE;
  if (n >= N) return;
  float sum = 0.0f;
  for (int i = 0; i < 8 * tiles; ++i) {
    const int k = 32 * i + lane_id;
    const uint32_t word = W_packed[(size_t(n) * tiles + i / 8) * WARP_SIZE + lane_id];
    if (k < K) sum += ((word >> (28 - 4 * (i % 8)) & 15) - zeros[n]) * to_float(x[k]);
  }
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) y[n] = static_cast<X_T>(sum * scales[n]);
}
"""
