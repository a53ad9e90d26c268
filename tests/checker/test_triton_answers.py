"""Answers that are functions in Triton: how check() reads, runs, and talks about them."""

import linecache
import runpy
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from torch.overrides import _get_current_function_mode_stack

from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.runners.ahead_of_time import PlannedLaunch, refusal
from gemlite_lab.checker import EXERCISES, CheckFailed, check, triton_answers
from gemlite_lab.checker.runnable import runnable
from gemlite_lab.checker.tiled_cases import exact_tiled
from gemlite_lab.sandbox.triton_products import (
    OutputsStartAsNaN,
    splitk_group_product,
    tiled_product,
)

RIGHT = Path(__file__).parent.parent / "right"
TRITON = [name for name in EXERCISES if EXERCISES[name].is_triton]


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))


def message_of(name, answer):
    with pytest.raises(CheckFailed) as caught:
        check(name, answer)
    return str(caught.value)


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)


def test_a_doubt_is_told_only_beside_an_output_without_a_name():
    def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
        return (words >> (4 * field)) & 15

    def without_a_name(words, field: tl.constexpr, NBITS: tl.constexpr):
        return ((words >> (4 * field)) & 15) ^ (5 * (NBITS != 4))

    undefined = "A GPU leaves that undefined"
    named = message_of("unpack_tile", unpack_tile)
    assert "exactly what comes out when" in named and undefined not in named
    assert undefined in message_of("unpack_tile", without_a_name)


@pytest.mark.parametrize("name", TRITON)
def test_a_stub_is_not_run(name):
    def answer():
        """What there is to write."""
        # error YOUR CODE HERE

    assert message_of(name, answer) == (
        f"{name} is not written yet: put your code in place of the line '#error YOUR CODE HERE'"
    )


@pytest.mark.parametrize("name", TRITON)
def test_a_text_is_no_function(name):
    with pytest.raises(TypeError, match=f"{name} must be a function, got str"):
        check(name, "def f(): ...")


def test_a_function_without_a_text_is_refused():
    namespace = {}
    exec("def unpack_tile(words, field, NBITS):\n    return words", namespace)
    for answer in (namespace["unpack_tile"], lambda words, field, NBITS: words):
        with pytest.raises(TypeError, match="^unpack_tile must be a def in a notebook"):
            check("unpack_tile", answer)


def test_a_notebook_cell_is_a_text(capsys):
    source = (
        "def unpack_tile(words, field, NBITS):\n    return words >> NBITS * field & 2**NBITS - 1\n"
    )
    linecache.cache["<a cell>"] = len(source), None, source.splitlines(True), "<a cell>"
    namespace = {}
    exec(compile(source, "<a cell>", "exec"), namespace)
    check("unpack_tile", namespace["unpack_tile"])
    assert capsys.readouterr().out.startswith("unpack_tile: right, bit for bit in ")


def test_it_may_be_jitted_already(capsys):
    check("unpack_tile", triton.jit(unpack_tile))
    assert "right, bit for bit" in capsys.readouterr().out


def revsplitk(tmp_path, one_group):
    """The right gemv_revsplitk, but with another text where it asks whether K is one group."""
    right = (RIGHT / "gemv_revsplitk" / "as_shipped.py").read_text()
    asked = "GROUP is None or GROUP % (2 * TILE) == 0"
    assert asked in right
    path = tmp_path / "answer.py"
    path.write_text(right.replace(asked, one_group))
    return runpy.run_path(str(path))["gemv_revsplitk"]


def test_an_argument_that_is_none_is_named(tmp_path):
    message = message_of("gemv_revsplitk", revsplitk(tmp_path, "GROUP % (2 * TILE) == 0"))
    assert message.endswith("'NoneType' and 'int' (GROUP is None here)")


def test_too_many_loads_where_k_is_one_group_are_explained_by_that(tmp_path):
    asks = "GROUP is not None and GROUP % (2 * TILE) == 0"
    message = message_of("gemv_revsplitk", revsplitk(tmp_path, asks))
    assert message.endswith("need one load. Here all of K is one group, and GROUP is None")


def test_an_error_is_unwrapped_and_names_its_line():
    def broken(words, field: tl.constexpr, NBITS: tl.constexpr):
        return words.reshape(7)

    message = message_of("unpack_tile", broken)
    assert message.startswith("unpack_tile raised ValueError at `return words.reshape(7)`")
    assert "InterpreterError" not in message


def test_a_wrong_number_of_arguments_is_told():
    def of_words_alone(words):
        return words

    assert "takes 1 positional argument" in message_of("unpack_tile", of_words_alone)


def test_outputs_start_as_nan_and_only_for_a_while():
    with OutputsStartAsNaN():
        assert torch.empty(3).isnan().all() and torch.ones(3).new_empty(2).isnan().all()
        assert torch.empty(3, dtype=torch.int32).unique().tolist() == [2**31 - 1]
    assert OutputsStartAsNaN not in map(type, _get_current_function_mode_stack())


def test_a_product_is_that_of_the_replaced_kernel_and_is_watched():
    case = exact_tiled(4, 32, None, N=3, K=128)
    right, _ = EXERCISES["gemv_revsplitk"].expected(case)

    def gemv(
        x_ptr, W_ptr, high_ptr, scales_ptr, zeros_ptr, partial_ptr, M, N, K,
        NBITS: tl.constexpr, FIELDS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
        FMA: tl.constexpr, ATOMIC: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
    ):  # fmt: skip
        tl.store(partial_ptr + tl.arange(0, 2), tl.load(x_ptr + M * K + tl.arange(0, 2)))

    y, *_ = tiled_product(unpack_tile, "unpack", "gemv", case.x, case.weight)
    assert torch.equal(y.float(), right)
    outside = f"reads outside of its tensors: element {case.x.numel()} of x_ptr"
    with pytest.raises(KernelFault, match=outside):
        tiled_product(gemv, "gemv", "gemv", case.x, case.weight)


def leaves_a_loop(words, field: tl.constexpr, NBITS: tl.constexpr):
    while True:
        break
    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)


def has_a_dict(words, field: tl.constexpr, NBITS: tl.constexpr):
    shift = {"by": NBITS * field}
    return (words >> shift["by"]) & ((1 << NBITS) - 1)


def goes_over_a_list(words, field: tl.constexpr, NBITS: tl.constexpr):
    for _ in list(range(3)):
        words = words + 0
    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)


def asks_python(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> sum([NBITS] * field)) & ((1 << NBITS) - 1)


def has_branches_of_two_types(words, field: tl.constexpr, NBITS: tl.constexpr):
    if tl.sum(words.to(tl.int64)) >= 0:
        codes = (words >> (NBITS * field)) & ((1 << NBITS) - 1)
    else:
        codes = 0.5
    return codes


@pytest.mark.parametrize(
    "answer, why",
    [
        (leaves_a_loop, "Triton's language has no `break`, at `break`"),
        (has_a_dict, "Triton's language has no dict, at `shift = "),
        (goes_over_a_list, "goes over `range` or `tl.static_range`, at `for _ in list(range(3)):`"),
        (asks_python, "sum is not defined, at `return (words >> sum([NBITS] * field))"),
        (has_branches_of_two_types, "Mismatched type for codes between then block"),
    ],
)
def test_what_triton_does_not_compile_is_one_sentence_with_its_line(answer, why):
    exercise = EXERCISES["unpack_tile"]
    with runnable(exercise, answer) as sandbox, pytest.raises(KernelTextError) as caught:
        triton_answers.compile_for_gpu(exercise, sandbox)
    said = str(caught.value)
    assert said.startswith("unpack_tile runs here, but it does not compile for a GPU: ")
    assert why in said and "\n" not in said


def test_an_answer_that_does_not_compile_is_not_right(capsys):
    with pytest.raises(KernelTextError):
        check("unpack_tile", leaves_a_loop)
    assert "right" not in capsys.readouterr().out


def test_tiles_must_fit_the_shared_memory_of_a_gpu():
    case, path = EXERCISES["splitk_group"].cases()[0], RIGHT / "splitk_group/group_of_each_k.py"
    answer = runpy.run_path(str(path))["splitk_group"]
    operands = case.x, case.W_q, case.scales, case.zeros
    with pytest.raises(PlannedLaunch) as caught:
        splitk_group_product(answer, *operands, case.group_size, case.block_k, 1, "meta")
    planned = caught.value
    planned.meta["BLOCK_K"] = 512
    why = refusal(planned, path.read_text())
    assert why == "it needs 320 KiB of shared memory, and a GPU has 227"
