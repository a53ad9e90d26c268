"""Exercises of a few lines: their cases, and what is asked of a text besides its output."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_lab.checker import EXERCISES, check
from gemlite_lab.checker.cuda_c import CUDA_C_EXERCISES
from gemlite_lab.checker.exercise import tensors_of
from gemlite_lab.checker.mma_rows import MMA_ROWS
from gemlite_lab.checker.shared_kernels import SHARED_EXERCISES

ROOT = Path(__file__).parent.parent.parent
GUARD = (ROOT / "tests/right/cuda_guard/plain.cu").read_text()
SMALL_KERNELS = (*CUDA_C_EXERCISES, *SHARED_EXERCISES, MMA_ROWS)
by_exercise = pytest.mark.parametrize("exercise", SMALL_KERNELS, ids=lambda e: e.name)
of_cuda_c = pytest.mark.parametrize("exercise", CUDA_C_EXERCISES, ids=lambda e: e.name)
BLOCKS_OF_64 = {"cuda_reverse", "cuda_two_buffers"}


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))


@by_exercise
def test_the_cases_have_several_blocks_and_other_numbers_in_one_shape(exercise):
    cases = exercise.cases()
    first, last = cases[0], cases[-1]
    grids = {case.launch.grid[0] for case in cases}
    assert max(grids) > 1 and len(grids) > 1
    assert any(case.launch.grid[0] != case.launch.threads for case in cases)
    assert first.launch == last.launch
    for name, tensor in tensors_of(first).items():
        assert tensor.shape == tensors_of(last)[name].shape
        assert not torch.equal(tensor, tensors_of(last)[name])
    assert len({case.label for case in cases}) == len(cases)


@by_exercise
def test_block_sizes_change_except_where_the_text_fixes_them(exercise):
    sizes = {case.launch.threads for case in exercise.cases()}
    assert sizes == {64} if exercise.name in BLOCKS_OF_64 else len(sizes) > 1


@pytest.mark.parametrize("name", ["guard", "ratio", "half", "row_column", "row_sum", "pack"])
def test_some_grid_has_threads_without_work(name):
    cases = EXERCISES[f"cuda_{name}"].cases()
    work = [len(EXERCISES[f"cuda_{name}"].expected(case)[0].flatten()) for case in cases]
    threads = [case.launch.grid[0] * case.launch.threads for case in cases]
    assert any(have > needed for have, needed in zip(threads, work, strict=True))


def test_products_of_halves_exceed_what_a_half_holds():
    exercise = EXERCISES["cuda_half"]
    for case in exercise.cases():
        right, _ = exercise.expected(case)
        assert ((case.a * case.b).isinf() & right.isfinite()).any() and not right.isnan().any()
        exact = case.a.double() * case.b.double() + case.c.double()
        assert torch.equal(exact.float().double(), exact)  # so a fused product is right too


@pytest.mark.parametrize("name", ["index", "guard", "row_column", "lanes", "reverse", "transpose"])
def test_floats_are_tiny_huge_and_0_in_the_output(name):
    exercise = EXERCISES[f"cuda_{name}"]
    outputs = [exercise.expected(case)[0].abs().flatten() for case in exercise.cases()]
    y = torch.cat(outputs)
    assert not y.min() and ((y > 0) & (y < 1e-11)).any() and (y > 1e12).any()


def test_totals_and_counts_of_ints_leave_16_and_24_bits_and_one_quotient_for_doubles():
    case = EXERCISES["cuda_ratio"].cases()[0]
    for numbers, limit in ((case.total, 2**24), (case.count, 2**15)):
        assert torch.equal(numbers.float().int(), numbers)
        assert numbers.max() > limit and numbers.min() < -limit
    assert case.count.all() and not case.total.all()
    right, _ = EXERCISES["cuda_ratio"].expected(case)
    assert torch.equal((case.total.double() / case.count.double()).float(), right)


def test_halves_are_subnormal_largest_and_0_and_a_result_is_infinite():
    cases = EXERCISES["cuda_half"].cases()
    smallest_normal = torch.finfo(torch.half).smallest_normal
    for name in ("a", "b", "c", "y"):
        numbers = [EXERCISES["cuda_half"].expected(c)[0] if name == "y" else vars(c)[name]
                   for c in cases]  # fmt: skip
        size = torch.cat(numbers).abs()
        assert not size.min() and ((size > 0) & (size < smallest_normal)).any(), name
        assert size.max() == (torch.inf if name == "y" else 65_504), name


def test_words_and_codes_have_all_values():
    field = EXERCISES["cuda_field"].cases()
    assert all((case.words == 0).any() and (case.words == -1).any() for case in field[::2])
    y = EXERCISES["cuda_field"].expected(field[2])[0][:8200].view(-1, 8)
    assert all(place.unique().tolist() == list(range(16)) for place in y.T)
    pack = EXERCISES["cuda_pack"]
    assert pack.expected(pack.cases()[2])[0].unique().tolist() == list(range(256))


def test_rows_of_other_units_and_zeros_leave_the_sums_exact():
    for name in ("cuda_row_sum", "mma_rows"):
        for case in EXERCISES[name].cases():
            right, _ = EXERCISES[name].expected(case)
            doubles = {key: tensor.double() for key, tensor in tensors_of(case).items()}
            exact = doubles["x"] @ doubles["W"].T if "W" in doubles else doubles["x"].sum(1)
            assert torch.equal(right.double(), exact)
            assert name != "cuda_row_sum" or len(case.x) == 2 or (case.x == 0).any()


def test_fragments_are_of_11_bits_subnormal_and_largest_and_some_steps_are_0():
    cases = MMA_ROWS.cases()
    for numbers in ([case.W for case in cases], [case.x for case in cases]):
        size = torch.cat([tensor.flatten() for tensor in numbers]).abs()
        assert ((size > 0) & (size < torch.finfo(torch.half).smallest_normal)).any()
        assert size.max() > 2**15 and ((size > 2**10) & (size < 2**11) & (size % 2 == 1)).any()
        assert all((tensor.view(-1, 16) == 0).all(1).any() for tensor in numbers if len(tensor) > 5)


@pytest.mark.parametrize("exercise", SHARED_EXERCISES, ids=lambda e: e.name)
def test_numbers_in_shared_memory_need_more_bits_than_a_half_and_a_fraction(exercise):
    for case in exercise.cases():
        assert not torch.equal(case.x.half().float(), case.x)
        assert not torch.equal(case.x.int().float(), case.x)
        right, _ = exercise.expected(case)
        assert torch.equal(right.double(), exercise.expected(as_double(case))[0])


def as_double(case):
    return replace(case, x=case.x.double())


@pytest.mark.parametrize(
    "old, new",
    [
        ("__global__ void", "__device__ void"),
        ("float* y, int N", "int N, float* y"),
        ("const float* z", "float* z"),
        ("(const float* x", "(const half* x"),
    ],
)
def test_the_first_line_stays(old, new):
    with pytest.raises(KernelTextError, match="cuda_guard must keep its first line: __global__ "):
        check("cuda_guard", GUARD.replace(old, new))


def test_the_first_line_may_be_broken_and_commented(capsys):
    broken = GUARD.replace("const float* z, ", "\n    const float *z,  // added to x\n    ")
    check("cuda_guard", broken)
    assert capsys.readouterr().out.startswith("cuda_guard: right, bit for bit in 5 cases")


def test_a_loop_that_does_not_end_is_stopped_within_seconds():
    with pytest.raises(RuntimeError, match="did not end within 1 s of processor time"):
        check("cuda_guard", GUARD.replace("if (i < N)", "while (i < N)"))


@of_cuda_c
def test_the_learner_gets_at_most_fifteen_lines_and_writes_at_most_three(exercise):
    (path,) = ROOT.glob("solutions/*cuda_c.ipynb")
    cells = json.loads(path.read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    (text,) = [source for source in sources if source.startswith(f'{exercise.name} = """')]
    lines = text.splitlines()[1:-1]
    begin, end = (next(i for i, line in enumerate(lines) if f"### {m}" in line) for m in ("B", "E"))
    assert len(lines) - 2 <= 15 and 1 <= end - begin - 1 <= 3
    assert f'check("{exercise.name}", {exercise.name})' in sources
