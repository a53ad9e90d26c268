"""The steps of one warp that an inspected run records when it is asked to."""

import pytest
import torch

from gemlite_edu import Window, load
from gemlite_edu.runners import simulator

TREE = """
float value = x[t];
for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
if (t == 0) y[0] = value;"""
STAGED = """
__shared__ float copy[64];
copy[t] = x[t];
__syncthreads();
y[t] = copy[63 - t];"""


@pytest.fixture
def record(inspect):
    def run(statements, window=None, **options):
        report, _ = inspect(statements, window=window or Window(), **options)
        return report.record

    return run


def test_a_run_records_nothing_unless_asked(inspect):
    report, _ = inspect(STAGED)
    assert report.record is None


def test_a_shuffle_tree_step_by_step(record):
    first, *shuffles, last = record(TREE, threads=32).steps
    held = dict(enumerate(range(1, 33)))
    assert (first.op, first.name, first.cost) == ("load", "x", 4)
    assert first.bytes_of == {lane: 4 * lane for lane in range(32)}
    assert first.values == {lane: (value,) for lane, value in held.items()}
    for shuffle, offset in zip(shuffles, (16, 8, 4, 2, 1), strict=True):
        sources = {lane: lane + offset if lane + offset < 32 else lane for lane in range(32)}
        assert (shuffle.op, shuffle.name, shuffle.sources) == ("shuffle", "", sources)
        assert shuffle.values == {lane: (value,) for lane, value in held.items()}
        assert shuffle.taken == {lane: (held[source],) for lane, source in sources.items()}
        held = {lane: held[lane] + held[source] for lane, source in sources.items()}
    assert (last.op, last.name, last.values) == ("store", "y", {0: (32 * 33 / 2,)})


def test_staging_step_by_step(record):
    found = record(STAGED)
    assert [(step.op, step.space, step.name) for step in found.steps] == [
        ("load", "global", "x"),
        ("store", "shared", "copy"),
        ("barrier", "", ""),
        ("load", "shared", "copy"),
        ("store", "global", "y"),
    ]
    assert found.steps[3].bytes_of == {lane: 4 * (63 - lane) for lane in range(32)}
    assert found.steps[3].values == {lane: (64 - lane,) for lane in range(32)}
    assert found.steps[3].code == "y[t] = copy[63 - t];"
    assert found.lines[found.steps[3].place] == "y[t] = copy[63 - t];"
    assert (found.total, found.first_fault) == (5, None)


def test_the_window_is_of_one_block_and_warp_and_of_some_steps(record):
    statements = "for (int i = 0; i < 10; ++i) y[t] = x[t];"
    window = Window(block=2, warp=1, first=4, steps=3)
    found = record(statements, window, grid=(3, 1), y=torch.zeros(64))
    assert [step.number for step in found.steps] == [4, 5, 6]
    assert [step.op for step in found.steps] == ["load", "store", "load"]
    assert found.steps[0].bytes_of[0] == 32 * 4
    assert found.total == 20


def test_a_record_changes_no_count(inspect):
    plain, _ = inspect(STAGED, grid=(3, 1))
    recorded, _ = inspect(STAGED, grid=(3, 1), window=Window())
    assert (recorded.lines, recorded.phases) == (plain.lines, plain.phases)
    assert recorded.findings == plain.findings
    assert torch.equal(recorded.y, plain.y)


def test_lanes_that_wait_or_have_ended_are_told_apart(record):
    statements = """
    if (t >= 24) return;
    if (t >= 8 && t < 16) { y[t] = x[t]; __syncwarp(0xFFFFu); }
    else if (t < 8) __syncwarp(0xFFFFu);
    __syncthreads();
    y[t] = __shfl_sync(0x00FFFFFFu, x[t], 8);"""
    first, store, meeting, barrier, *_, shuffle, _ = record(statements, threads=32).steps
    assert (first.op, first.lanes, store.lanes) == ("load", *[tuple(range(8, 16))] * 2)
    assert first.waiting == tuple(range(8))
    assert (meeting.op, meeting.lanes) == ("__syncwarp", tuple(range(16)))
    assert (barrier.op, barrier.lanes) == ("barrier", tuple(range(24)))
    assert "threads 24-31 of its warp never reached" in barrier.faults[0]
    assert shuffle.sources == {lane: 8 for lane in range(24)}
    assert (shuffle.ended, barrier.ended) == (tuple(range(24, 32)),) * 2


def test_lanes_that_reach_two_tensors_at_once_make_two_steps(record):
    found = record(
        "float* p = t % 2 ? y : const_cast<float*>(x); y[t] = p[t] + 1;", y=torch.ones(64)
    )
    loads = [step for step in found.steps if step.op == "load"]
    assert {step.name: step.lanes[:2] for step in loads} == {"x": (0, 2), "y": (1, 3)}
    assert {step.name: step.values[step.lanes[1]] for step in loads} == {"x": (3,), "y": (1,)}


def test_integers_and_vectors_have_their_numbers(record):
    statements = """
    __shared__ int2 pairs[32];
    pairs[t] = make_int2(t, -t);
    y[t] = pairs[t].y + __shfl_xor_sync(~0u, t, 1);"""
    store, *_, shuffle, _ = record(statements, threads=32, y=torch.zeros(64).int()).steps
    assert store.values[3] == (3, -3)
    assert (store.bytes_per_lane, store.element_bytes) == (8, 4)
    assert (shuffle.sources[3], shuffle.values[3], shuffle.taken[3]) == (2, (3,), (2,))


def test_a_shuffle_of_another_type_has_no_numbers(record):
    statements = """
    const half2 pair = __shfl_sync(~0u, make_half2(__float2half(1), __float2half(2)), 3);
    y[t] = __half2float(pair.x);"""
    shuffle, _ = record(statements, threads=32).steps
    assert (shuffle.values, shuffle.taken) == ({}, {})
    assert shuffle.sources == {lane: 3 for lane in range(32)}


def test_an_array_whose_type_is_a_macro_has_numbers():
    x = torch.arange(64).half()[None]
    report = load("gemv_a16w16_shared").inspect(x, torch.ones(2, 64).half(), window=Window())
    staged = next(step for step in report.record.steps if step.name == "x_shared")
    assert staged.values == {lane: (lane,) for lane in range(32)}
    assert (staged.element_bytes, staged.bytes_of[5]) == (2, 10)


def test_an_atomic_operation_shows_what_it_leaves(record):
    atomic = record("atomicAdd(&y[t / 32], 1.0f);", y=torch.ones(64)).steps[0]
    assert (atomic.op, atomic.name) == ("atomic", "y")
    assert [atomic.values[lane] for lane in (0, 1, 31)] == [(2,), (3,), (33,)]


def test_a_bank_conflict_costs_wavefronts(record):
    statements = "__shared__ float a[1024]; a[32 * t] = 1; __syncwarp(); y[t] = a[32 * (31 - t)];"
    store, _, load_, _ = record(statements, threads=32).steps
    assert (store.cost, load_.cost) == (32, 32)


def test_a_missing_barrier_marks_the_steps_that_race(record):
    found = record(STAGED.replace("__syncthreads();", ""))
    load_ = next(step for step in found.steps if step.op == "load" and step.name == "copy")
    assert load_.faults[0].endswith("and no __syncthreads stands between")
    assert "which no thread has written before" in load_.faults[1]
    assert load_.faulty == tuple(range(32))
    assert found.first_fault == 1  # warp 1 reads what this store writes
    assert found.steps[1].faults and not found.steps[0].faults


def test_a_step_that_ends_the_run_has_the_fault(record):
    found = record("y[t] = x[t]; y[t] = x[t + 1000000];")
    assert found.steps[-1].op == "load"
    assert "reads x[1000000], outside x" in found.steps[-1].faults[0]
    assert found.first_fault == found.steps[-1].number


def test_a_run_that_ends_elsewhere_has_a_last_step(record):
    found = record("y[t] = x[t]; if (t < 16) y[t] = __shfl_sync(~0u, x[t], 0);", threads=32)
    assert found.steps[-1].op == "stop"
    assert "shuffles with a mask that names lanes 16-31" in found.steps[-1].faults[0]
    assert found.first_fault == found.steps[-1].number == found.total


def test_a_fault_behind_the_window_is_numbered(record):
    statements = "for (int i = 0; i < 20; ++i) y[t] = x[t + 5 * i];"
    found = record(statements, Window(steps=5))
    assert not any(step.faults for step in found.steps)
    assert found.first_fault > 5


@pytest.mark.parametrize(
    "window, sentence",
    [
        (
            Window(block=3),
            "blocks 0 to 0 and warps 0 to 1 in each, got a window of block 3, warp 0",
        ),
        (Window(warp=2), "got a window of block 0, warp 2"),
        (Window(steps=0), "at least 1 step, got steps=0"),
    ],
)
def test_a_window_of_nothing_is_refused(record, window, sentence):
    with pytest.raises(ValueError, match=sentence):
        record(STAGED, window)


@pytest.mark.parametrize("wrong", [{"steps": 1001}, {"warp": -1}, {"first": 1.5}, {"block": True}])
def test_a_window_takes_small_numbers(wrong):
    with pytest.raises(ValueError, match=f"got {next(iter(wrong.values()))}"):
        Window(**wrong)


def test_no_window_is_none():
    assert simulator.NO_WINDOW.steps == 0
