"""A run keeps what it measured, goes on after a kernel that fails, and says what it cannot do."""

from dataclasses import replace
from importlib.metadata import version

import pytest
import torch
from replayed_calls import ReplayedCalls

import gemlite_edu
from gemlite_edu.kernels.gemm_fast import FAST_GEMM
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.gemv_fast import FAST_KERNELS
from gemlite_edu.kernels.ternary import TERNARY_KERNELS
from gemlite_edu.kernels.ternary_fast import FAST_TERNARY
from gemlite_edu.kernels.triton import KERNELS as TRITON_KERNELS
from gemlite_edu.runners.timing import Timing
from gemlite_lab.bench import __main__ as command
from gemlite_lab.bench import loop
from gemlite_lab.bench import run as run_module
from gemlite_lab.bench.candidate import Candidate, find_candidates
from gemlite_lab.bench.card import Card
from gemlite_lab.bench.measurements import read
from gemlite_lab.bench.measuring import Refused, Result, measure
from gemlite_lab.bench.problem import Problem, WeightFormat
from gemlite_lab.bench.run import cells_of, problems_of, row_of, run
from gemlite_lab.bench.table import table

CARD = Card("a card", 1_000, read_gb_per_s=4000.0, matmul_tflops=700.0, driver="1.2")
RESULT = Result(Timing(1.0, 2.0, 3.0), nbytes=4_000_000, error=2e-4, copies=4, mhz=(1980, 3201))
PEERS = (
    "cublas",
    "cublas_bf16",
    "gemlite",
    "humming",
    "tinygemm",
    "torch_compile_int8",
    "torchao",
)


def cells(count):
    kernel = Candidate("a_kernel", "torch", torch.float16, lambda problem: "", None)
    return [(kernel, Problem(WeightFormat(4, 128), M, 64, 256)) for M in range(1, count + 1)]


@pytest.fixture
def without_gpu(monkeypatch):
    """The parts of a run that ask the GPU."""
    monkeypatch.setattr(run_module.torch, "Generator", lambda device: torch.default_generator)


def outcomes(monkeypatch, *found):
    """measure() returns or raises these in turn."""
    found = iter(found)

    def measure(*_):
        outcome = next(found)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(run_module, "measure", measure)


def test_every_row_is_on_disk_when_a_run_is_interrupted(monkeypatch, tmp_path, without_gpu, capsys):
    outcomes(monkeypatch, RESULT, RESULT, KeyboardInterrupt())
    path = tmp_path / "bench.csv"
    rows, failures = run(cells(5), CARD, path)
    assert failures == []
    assert [row.M for row in rows] == [1, 2]
    assert read(path) == rows
    assert "stopped: 2 of 5 measured" in capsys.readouterr().out


def test_a_run_appends(monkeypatch, tmp_path, without_gpu):
    outcomes(monkeypatch, RESULT, RESULT)
    path = tmp_path / "bench.csv"
    both = run(cells(1), CARD, path)[0] + run(cells(1), CARD, path)[0]
    assert read(path) == both


def test_a_refused_kernel_leaves_its_reason_and_one_that_raises_no_row(
    monkeypatch, tmp_path, without_gpu
):
    outcomes(monkeypatch, Refused("it sleeps"), RuntimeError("x" * 999 + "\nat all"), RESULT)
    path = tmp_path / "bench.csv"
    rows, [(_, problem, error)] = run(cells(3), CARD, path)
    assert [row.refused for row in rows] == ["it sleeps", ""]
    assert [row.p50_us for row in rows] == [0, 2.0]
    assert problem.M == 2 and error == "RuntimeError: " + "x" * 300
    assert read(path) == rows


def test_the_run_ends_where_the_gpu_does_nothing_more(monkeypatch, tmp_path, without_gpu, capsys):
    outcomes(monkeypatch, RESULT, RuntimeError("CUDA error: an illegal access"), RESULT)
    rows, failures = run(cells(3), CARD, tmp_path / "bench.csv")
    assert len(rows) == len(failures) == 1
    assert "the run ends here" in capsys.readouterr().out


def test_the_seed_of_a_row_draws_its_operands_again(monkeypatch, tmp_path, without_gpu):
    drawn = []

    def measure(candidate, problem, card, generator):
        drawn.append(torch.randn(3, generator=generator))
        return RESULT

    monkeypatch.setattr(run_module, "measure", measure)
    rows, _ = run(cells(2), CARD, tmp_path / "bench.csv")
    again = [torch.randn(3, generator=torch.manual_seed(row.seed)) for row in rows]
    assert torch.equal(torch.stack(drawn), torch.stack(again))
    assert rows[0].seed != rows[1].seed


def test_a_row_says_what_was_measured_where_and_with_what(without_gpu):
    row = row_of(*cells(1)[0], CARD, RESULT, "", 7)
    assert (row.p20_us, row.p50_us, row.p80_us, row.error, row.copies) == (1.0, 2.0, 3.0, 2e-4, 4)
    assert (row.bytes, row.gb_per_s, row.read_gb_per_s, row.fraction) == (4e6, 2000, 4000, 0.5)
    assert (row.sm_mhz, row.memory_mhz, row.driver) == (1980, 3201, "1.2")
    assert (row.x_dtype, row.transposed, row.triton) == ("float16", False, version("triton"))
    assert row.version == row.torch == torch.__version__ and row.weights == "W4 g128"


def test_the_table_has_the_fastest_first_and_refusals_last(without_gpu):
    kernel, problem = cells(1)[0]
    slow = row_of(replace(kernel, name="slow"), problem, CARD, RESULT, "", 7)
    fast = replace(slow, kernel="fast", p50_us=1.5)
    refused = row_of(replace(kernel, name="refused"), problem, CARD, None, "it sleeps", 7)
    lines = table([refused, slow, fast]).splitlines()
    assert lines[1] == "W4 g128, N x K = 64 x 256, M = 1"
    assert [line.split()[0] for line in lines[3:]] == ["fast", "slow", "refused"]
    assert lines[-1].endswith("refused: it sleeps (seed 7)")
    assert lines[4].split() == ["slow", "2.0", "1.0", "3.0", "2000", "50%", "2.0e-04"]


def test_every_kernel_of_the_package_and_every_peer_takes_part():
    triton = {"triton_mixed_mm", *(f"triton_{name}" for name in TRITON_KERNELS)}
    layer = {"gemlite_linear", "dequantize_then_cublas"}
    products_of_int8 = {*TERNARY_KERNELS, *FAST_TERNARY, "int_mm"}
    fast = {*FAST_KERNELS, *(f"{name}_bf16" for name in FAST_KERNELS), *FAST_GEMM}
    fast |= {"gemv_a16wn_fast_table", "gemm_a16wn_mma", "gemm_a16wn_mma_bf16"}
    assert set(find_candidates()) == {*KERNELS, *fast, *triton, *layer, *PEERS, *products_of_int8}


def test_a_peer_is_added_by_a_file(monkeypatch, tmp_path):
    from gemlite_lab.bench import candidates as folder

    (tmp_path / "a_new_peer.py").write_text(
        "import torch\n"
        "from gemlite_lab.bench.candidate import Candidate\n"
        "CANDIDATES = [Candidate('new', 'torch', torch.float16, lambda problem: '', None)]\n"
    )
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    assert "new" in find_candidates()


TAKEN = {
    "cublas": ["W16"],
    **{name: ["W16"] for name in KERNELS if name.startswith("gemv_a16w16")},
    **{f"gemv_a16wn_{kind}": ["W8", "W3", "W4 g32"] for kind in ("fp32", "float4", "half2")},
    **{f"gemv_a8wn_{kind}": ["W8", "W3"] for kind in ("int32", "dp4a")},
    "gemv_a16w3_planes": ["W3"],
    "gemv_a16w7_sparse": ["W7 sparse", "W7 g96 sparse"],
}


@pytest.mark.parametrize("name", [*KERNELS, "cublas"])
@pytest.mark.parametrize("weights", ["W16", "W8", "W3", "W4 g32", "W7 sparse", "W7 g96 sparse"])
def test_ours_and_cublas_compute_the_problem(name, weights, monkeypatch):
    """Here in the simulator and by torch on the CPU, where there is nothing to time."""
    monkeypatch.setattr(
        "gemlite_lab.bench.measuring.time_replays", lambda clock, before_each: Timing(1, 1, 1)
    )
    candidate = find_candidates()[name]
    problem = Problem(WeightFormat.parse(weights), M=2, N=33, K=96)
    if candidate.why_not_here(problem):
        assert weights not in TAKEN[name]
        return
    assert weights in TAKEN[name]
    generator = torch.Generator().manual_seed(4)
    result = measure(candidate, problem, replace(CARD, read_gb_per_s=1e9), generator, ReplayedCalls)
    assert result.error < 2**-11


OF_FAST_KERNELS = [
    *(
        ("gemv_a16wn_fast", weights)
        for weights in ("W8", "W7", "W4 g16", "W3 g128", "W2", "W1 g128")
    ),
    *(("gemv_a16w7_sparse_fast", weights) for weights in ("W7 sparse", "W7 g64 sparse")),
]


@pytest.mark.parametrize("name, weights", OF_FAST_KERNELS)
@pytest.mark.parametrize("end, error", [("", 2**-10), ("_bf16", 2**-8)])
def test_a_fast_gemv_computes_the_problem(name, weights, end, error, monkeypatch):
    monkeypatch.setattr(
        "gemlite_lab.bench.measuring.time_replays", lambda clock, before_each: Timing(1, 1, 1)
    )
    candidate = find_candidates()[name + end]
    problem = Problem(WeightFormat.parse(weights), M=3, N=33, K=384)
    generator = torch.Generator().manual_seed(4)
    result = measure(candidate, problem, replace(CARD, read_gb_per_s=1e9), generator, ReplayedCalls)
    assert result.error < error


@pytest.mark.parametrize("weights", ["W6 g128", "W3 g128"])
def test_a_table_of_the_codes_computes_the_problem(weights, monkeypatch):
    monkeypatch.setattr(
        "gemlite_lab.bench.measuring.time_replays", lambda clock, before_each: Timing(1, 1, 1)
    )
    candidate = find_candidates()["gemv_a16wn_fast_table"]
    problem = Problem(WeightFormat.parse(weights), M=2, N=33, K=384)
    assert not candidate.why_not(problem)
    generator = torch.Generator().manual_seed(4)
    result = measure(candidate, problem, replace(CARD, read_gb_per_s=1e9), generator, ReplayedCalls)
    assert result.error < 2**-10


NOT_OF_FAST_KERNELS = [
    *(("gemv_a16wn_fast", weights) for weights in ("W16", "W4 g8", "W7 sparse")),
    *(("gemv_a16w7_sparse_fast", weights) for weights in ("W16", "W7", "W4", "W7 g96 sparse")),
]


@pytest.mark.parametrize("name, weights", NOT_OF_FAST_KERNELS)
def test_a_fast_gemv_says_what_it_takes(name, weights):
    candidate = find_candidates()[name]
    assert candidate.why_not(Problem(WeightFormat.parse(weights), 1, 64, 384))
    assert candidate.why_not(Problem(WeightFormat(4), 65, 64, 384)).endswith("M up to 64")


@pytest.mark.parametrize("weights", ["W4 g128", "W7", "W1 g128"])
@pytest.mark.parametrize("end, error", [("", 2**-10), ("_bf16", 2**-8)])
def test_the_product_by_mma_computes_the_problem(weights, end, error, monkeypatch):
    monkeypatch.setattr(
        "gemlite_lab.bench.measuring.time_replays", lambda clock, before_each: Timing(1, 1, 1)
    )
    candidate = find_candidates()["gemm_a16wn_mma" + end]
    problem = Problem(WeightFormat.parse(weights), M=18, N=33, K=384)
    generator = torch.Generator().manual_seed(4)
    result = measure(candidate, problem, replace(CARD, read_gb_per_s=1e9), generator, ReplayedCalls)
    assert result.error < error


@pytest.mark.parametrize("weights, M", [("W16", 9), ("W4 g8", 9), ("W4", 4), ("W4", 65)])
def test_the_product_by_mma_says_what_it_takes(weights, M):
    problem = Problem(WeightFormat.parse(weights), M, 64, 384)
    assert find_candidates()["gemm_a16wn_mma"].why_not(problem)


@pytest.mark.parametrize("weights", ["W4 g128", "W8", "W2 g64", "W1 g128", "W3", "W7"])
def test_the_fast_gemm_computes_the_problem(weights, monkeypatch):
    monkeypatch.setattr(
        "gemlite_lab.bench.measuring.time_replays", lambda clock, before_each: Timing(1, 1, 1)
    )
    candidate = find_candidates()["gemm_a16wn_fast"]
    problem = Problem(WeightFormat.parse(weights), M=20, N=64, K=512)
    generator = torch.Generator().manual_seed(4)
    result = measure(candidate, problem, replace(CARD, read_gb_per_s=1e9), generator, ReplayedCalls)
    assert result.error < 2**-10


@pytest.mark.parametrize("weights", ["W16", "W4 g16", "W7 sparse"])
def test_the_fast_gemm_says_what_it_takes(weights):
    candidate = find_candidates()["gemm_a16wn_fast"]
    assert candidate.why_not(Problem(WeightFormat.parse(weights), 16, 64, 512))
    assert candidate.why_not(Problem(WeightFormat(4), 16, 60, 512)) == "N in 8s, K in 128s"


GEMMS = ["gemm_a8w2_wmma", "gemm_a8w2_fast"]


@pytest.mark.parametrize("name", ["gemv_a8w2_dp4a", *GEMMS, "cublas_bf16"])
@pytest.mark.parametrize("M", [2, 17])
def test_kernels_of_the_ternary_product_compute_the_problem(name, M, monkeypatch):
    monkeypatch.setattr(
        "gemlite_lab.bench.measuring.time_replays", lambda clock, before_each: Timing(1, 1, 1)
    )
    candidate = find_candidates()[name]
    weights = WeightFormat.parse("W16" if name == "cublas_bf16" else "W2")
    problem = Problem(weights, M, N=33, K=96)
    assert candidate.why_not(replace(problem, weights=WeightFormat.parse("W4 g32")))
    if name == "gemv_a8w2_dp4a" and M > 8:
        assert candidate.why_not(problem) == "M up to 8"
        return
    generator = torch.Generator().manual_seed(4)
    result = measure(candidate, problem, replace(CARD, read_gb_per_s=1e9), generator, ReplayedCalls)
    assert result.error < 2**-8


def test_int_mm_says_what_it_takes():
    int_mm, W8 = find_candidates()["int_mm"], WeightFormat(8)
    assert not int_mm.why_not(Problem(W8, 17, 64, 64))
    assert int_mm.why_not(Problem(W8, 16, 64, 64)) == "M from 17"
    assert int_mm.why_not(Problem(WeightFormat(8, 32), 17, 64, 64)) == "8 bits without groups"


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_says_what_it_does_not_take(name):
    peer = find_candidates()[name]
    shapes = {"M": 1, "N": 4096, "K": 4096}
    took = {
        (text, transposed): not peer.why_not(
            Problem(WeightFormat.parse(text), **shapes, transposed=transposed)
        )
        for text in ("W16", "W8", "W4 g128", "W3 g128")
        for transposed in (False, True)
    }
    expected = {
        "cublas": {("W16", False), ("W16", True)},
        "cublas_bf16": {("W16", False), ("W16", True)},
        "torch_compile_int8": {("W8", False)},
        "tinygemm": {("W4 g128", False)},
        "gemlite": {("W4 g128", False)},
        "humming": {("W4 g128", False)},
        "torchao": {("W4 g128", False), ("W4 g128", True)},
    }
    assert {problem for problem, takes in took.items() if takes} == expected[name]


def test_the_version_of_our_own_kernels_tells_their_texts_apart():
    versions = [find_candidates()[name].version() for name in KERNELS]
    assert len(set(versions)) == len(KERNELS)
    assert all(v.startswith(f"{gemlite_edu.__version__}+") for v in versions)


def test_a_name_twice_is_refused(monkeypatch, tmp_path):
    from gemlite_lab.bench import candidates as folder

    (tmp_path / "another_cublas.py").write_text("from gemlite_lab.bench.candidates.cublas import *")
    (tmp_path / "yet_another_cublas.py").write_text(
        "from gemlite_lab.bench.candidates.cublas import CANDIDATES"
    )
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    with pytest.raises(ValueError, match="two kernels of the name cublas: rename one"):
        find_candidates()


def test_cells_are_all_that_fit_each_other():
    known = find_candidates()
    chosen = [known["cublas"], known["gemv_a16wn_fp32"]]
    formats = [WeightFormat(16), WeightFormat(4), WeightFormat(4, 96)]
    problems = problems_of(formats, [(64, 128)], [1, 2], False)
    assert [str(p.weights) for p in problems] == ["W16", "W16", "W4", "W4"]
    found = [(c.name, str(p)) for c, p in cells_of(chosen, problems)]
    assert found == [
        ("cublas", "W16 64x128 M=1"),
        ("cublas", "W16 64x128 M=2"),
        ("gemv_a16wn_fp32", "W4 64x128 M=1"),
        ("gemv_a16wn_fp32", "W4 64x128 M=2"),
    ]


def test_a_missing_package_is_said_and_not_measured(capsys):
    stranger = Candidate("s", "no-such-package", torch.float16, lambda problem: "", None)
    assert cells_of([stranger], [Problem(WeightFormat(4), 1, 8, 8)]) == []
    options = command._options(["--shapes", "8x96 8x128", "--weights", "W4 W4g64"])
    command._say_what_is_left_out([stranger], options)
    printed = capsys.readouterr().out
    assert "not installed, so not measured: no-such-package" in printed
    assert "W4 g64 left out at K = 96: no whole groups" in printed


def test_the_options_as_make_writes_them():
    options = command._options(["--shapes", "4096x14336 8x16", "--m", "1 4", "--weights", "W4g128"])
    assert options.shapes == [(4096, 14336), (8, 16)] and options.m == [1, 4]
    assert options.weights == [WeightFormat(4, 128)] and not options.transposed
    defaults = command._options([])
    assert defaults.shapes == [(4096, 4096)] and defaults.m == [1, 16] and defaults.kernels == []
    assert len(defaults.weights) == 9


def test_what_is_asked_for_twice_is_measured_once():
    assert len(problems_of([WeightFormat(16)] * 2, [(8, 8)] * 2, [1, 1], False)) == 1


def test_where_nothing_fits_each_kernel_says_what_it_takes(monkeypatch, capsys):
    monkeypatch.setattr(command.torch.cuda, "is_available", lambda: True)
    names = ["--kernels", "cublas gemv_a8wn_int32"]
    assert command.main([*names, "--weights", "W4g128", "--shapes", "64x128"]) == 1
    message = capsys.readouterr().err
    assert "cublas: unquantized weights\n" in message
    assert "gemv_a8wn_int32: integer scales, none in groups\n" in message


@pytest.mark.parametrize("rows, status", [([], 1), (["it sleeps"], 1), (["it sleeps", ""], 0)])
def test_the_exit_status_says_whether_anything_was_measured(rows, status, monkeypatch, capsys):
    kernel, problem = cells(1)[0]
    rows = [row_of(kernel, problem, CARD, None if r else RESULT, r, 7) for r in rows]
    failure = (kernel, problem, "RuntimeError: no")
    monkeypatch.setattr("gemlite_lab.bench.card.current_card", lambda: CARD)
    monkeypatch.setattr(run_module, "run", lambda cells, card, path: (rows, [failure]))
    assert command._run_and_show(cells(1)) == status
    printed = capsys.readouterr().out
    assert "a_kernel, W4 g128 64x256 M=1: it raised RuntimeError: no" in printed
    assert ("rows appended" in printed) == bool(rows)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--shapes", "4096"], "shapes are written 4096x14336, N x K, got '4096'"),
        (["--shapes", ""], "shapes are written"),
        (["--m", "0"], "M is numbers from 1 up, like '1 16', got '0'"),
        (["--m", "1,16"], "M is numbers from 1 up"),
        (["--weights", "int4"], "weights are written W4g128, W8, W7sparse or W16, got 'int4'"),
    ],
)
def test_a_wrong_option_gets_one_sentence(arguments, sentence, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert sentence in capsys.readouterr().err


def test_an_unknown_kernel_is_answered_with_the_known_ones():
    with pytest.raises(SystemExit) as caught:
        command.main(["--kernels", "gemv cublas"])
    assert str(caught.value).startswith("there is no kernel 'gemv'; there are cublas, cublas_bf16,")


@pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU it measures kernels")
def test_without_a_gpu_the_loop_is_measured_and_called_what_it_is(monkeypatch, capsys):
    monkeypatch.setattr(loop, "RUNS", 1)
    assert command.main([]) == 0
    output = capsys.readouterr().out
    assert "There is no GPU here: these are seconds that you wait, and say nothing" in output
    for figure in (
        "simulator: changed hole to answer",
        "simulator: a run",
        "simulator: unchanged kernel, new process",
        "simulator: changed hole to report, 256 rows",
        "Triton interpreter: changed function to answer",
        "Triton interpreter: a run",
    ):
        line = next(line for line in output.splitlines() if line.startswith(figure))
        assert 0 <= float(line.split(": ")[-1].removesuffix(" s")) < 60
