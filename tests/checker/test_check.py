"""check() and hint() themselves: what they accept, print, remember and give away."""

import inspect
import json
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.packing import pack_warped_int32, unpack_warped_int32
from gemlite_lab.checker import EXERCISES, STUB_MARK, CheckFailed, check, hint
from gemlite_lab.checker.cuda_c import CUDA_C_EXERCISES
from gemlite_lab.checker.exercise import number, tensors_of
from gemlite_lab.checker.shared_kernels import SHARED_EXERCISES
from gemlite_lab.checker.wrong_answers import as_answer

RIGHT = Path(__file__).parent.parent / "right"
PACK = EXERCISES["pack"]
_FP32 = "gemv_a16wn_fp32"
_SMALL = {exercise.name for exercise in (*CUDA_C_EXERCISES, *SHARED_EXERCISES)}
_OF_PRODUCTS = [e.name for e in EXERCISES.values() if e.output == "y" and e.name not in _SMALL]


@pytest.fixture(autouse=True)
def progress_file(monkeypatch, tmp_path):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(path))
    return path


def right_answer(name):
    return as_answer(EXERCISES[name], (RIGHT / name / "plain.py").read_text(), "plain")


right_pack, right_unpack = right_answer("pack"), right_answer("unpack")


def message_of(name, answer):
    with pytest.raises(CheckFailed) as caught:
        check(name, answer)
    return str(caught.value)


def floor_us(N, K, nbits, group_size, read_gb_per_s):
    return N * K * (nbits / 8 + 4 / group_size) / (read_gb_per_s * 1e3)


def attainable_tflops(M, N, K, nbytes, read_gb_per_s, matmul_tflops):
    return min(2 * M * N * K / nbytes * read_gb_per_s / 1e3, matmul_tflops)


def test_a_seed_draws_the_fresh_cases_and_without_one_each_check_draws_others(monkeypatch):
    seeds = []
    watched = replace(EXERCISES["unpack"], fresh=lambda seed: seeds.append(seed) or [])
    monkeypatch.setitem(EXERCISES, "unpack", watched)
    check("unpack", right_unpack, seed=5)
    check("unpack", right_unpack)
    check("unpack", right_unpack)
    assert seeds[0] == 5 and seeds[1] != seeds[2]


# ---- what may be checked


@pytest.mark.parametrize("function", [lambda name: check(name, None), lambda name: hint(name, 1)])
def test_an_unknown_exercise_names_the_known_ones(function):
    with pytest.raises(
        ValueError, match="there is no exercise 'pakc'; there are best_scale, pack, unpack, "
    ):
        function("pakc")


@pytest.mark.parametrize("answer", ["def pack(W_q, nbits): ...", None, torch.zeros(2)])
def test_a_function_is_asked_for(answer):
    came = type(answer).__name__
    with pytest.raises(TypeError, match=f"pack must be a function, got {came}"):
        check("pack", answer)


@pytest.mark.parametrize("answer", [pack_warped_int32, None, ["text"]])
def test_a_text_is_asked_for(answer):
    came = type(answer).__name__
    said = f"dequant_dot must be the text of a CUDA function, got {came}"
    with pytest.raises(TypeError, match=said):
        check("dequant_dot", answer)


@pytest.mark.parametrize("name", [name for name in EXERCISES if EXERCISES[name].is_kernel])
def test_a_stub_is_not_compiled(name):
    assert message_of(name, f"  #error {STUB_MARK}\n") == (
        f"{name} is not written yet: put your code in place of the line '#error {STUB_MARK}'"
    )


# ---- what is said of a wrong answer


def test_an_error_names_its_line_and_the_case():
    def pack(W_q, nbits):
        return W_q.reshape(7, 7)

    assert message_of("pack", pack).startswith(
        "pack raised RuntimeError at `return W_q.reshape(7, 7)` on 4-bit, N = 3, K = 1000: "
    )


def test_an_error_deep_in_torch_still_names_the_line_in_the_answer():
    def unpack(W_packed, nbits, K):
        return torch.nn.functional.pad(W_packed, (0, "K"))

    assert 'at `return torch.nn.functional.pad(W_packed, (0, "K"))`' in message_of("unpack", unpack)


def test_an_answer_that_interrupts_itself_is_wrong():
    def pack(W_q, nbits):
        raise KeyboardInterrupt

    assert "pack raised KeyboardInterrupt at `raise KeyboardInterrupt` on" in message_of(
        "pack", pack
    )


def test_a_changed_input_is_told_even_if_the_output_is_right():
    def pack(W_q, nbits):
        words = right_pack(W_q, nbits)
        W_q.zero_()
        return words

    def unpack(W_packed, nbits, K):
        W_q = right_unpack(W_packed, nbits, K)
        W_packed[0, 0] ^= 1
        return W_q

    assert message_of("pack", pack) == "pack changed its input W_q: work on a copy"
    assert message_of("unpack", unpack) == "unpack changed its input W_packed: work on a copy"


@pytest.mark.parametrize("name", _OF_PRODUCTS)
def test_a_case_of_a_product_says_how_many_rows_x_has(name):
    for case in EXERCISES[name].cases():
        assert f"M = {len(case.x)}," in f"{case.label},", case.label


def test_an_unknown_mistake_leads_to_the_hints():
    message = message_of("pack", lambda W_q, nbits: right_pack(W_q, nbits) ^ 0x10)
    assert message.endswith('It is none of the mistakes known here; hint("pack", 1) may help.')


def test_the_first_row_that_a_scale_is_wrong_for_is_shown():
    def best_scale(w, nbits, candidates):
        return 0

    message = message_of("best_scale", best_scale)
    number, w, candidates = re.search(
        r"\nRow (\d+) has w = (\[.*?\]), nbits = 6, candidates = (\[.*\])\.\n", message
    ).groups()
    case = EXERCISES["best_scale"].cases()[0]
    assert f"index_of_row[{number}] is 0" in message
    assert json.loads(w) == case.W[int(number)].tolist()
    assert json.loads(candidates) == case.candidates[int(number)].tolist()


def test_of_many_candidates_the_first_are_shown_and_the_best():
    best_scale = right_answer("best_scale")

    def of_the_first(w, nbits, candidates):
        return best_scale(w, nbits, candidates[:256])

    message = message_of("best_scale", of_the_first)
    said = re.search(
        r"nbits = 4, and 300 candidates: the first are (\[.*?\]), and candidate 299 is 1.0\.\n",
        message,
    )
    case = next(case for case in EXERCISES["best_scale"].cases() if case.candidates.shape[1] == 300)
    assert json.loads(said[1]) == case.candidates[0, :12].tolist()
    assert len(message) < 700


def test_only_nan_is_told_apart_from_wrong_numbers():
    text = """
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) { return nanf(""); }
"""
    assert "holds NaN" in message_of("dequant_dot", text)


@pytest.mark.parametrize(
    "value",
    ["1.5", b"1.5", True, [1.5], (1.5, 2), 1j, torch.zeros(1), float]
    + [torch.tensor(True), np.True_, np.array("1.5"), np.zeros(1), np.array(1j)],
)
def test_one_number_is_asked_for(value):
    said = f"it must return one number, not a {type(value).__name__}"
    assert message_of("floor_us", lambda *limits: value).endswith(said)


@pytest.mark.parametrize("one", [int, Decimal, Fraction, np.float32, np.array, torch.tensor])
def test_whatever_is_one_number_is_taken(one):
    assert number(one(3)).item() == 3
    assert number(one(3)).dtype == torch.float64


@pytest.mark.parametrize("large", [10**400, Fraction(10**400), Fraction(10**400, 7)])
def test_a_number_beyond_all_floats_is_told_of_them(large):
    assert message_of("floor_us", lambda *limits: large).endswith(
        "it must return a number that a float can hold, up to 1.8e308, not a larger one"
    )


def test_nan_as_a_number_is_just_wrong():
    message = message_of("floor_us", lambda *limits: float("nan"))
    assert "microseconds is nan, expected 23.8551.\nEvery number of microseconds is NaN" in message


def test_the_fewest_traps_that_explain_an_answer_are_named():
    def script_2(card, nbytes):
        start = card.clock()
        card.launch(card.weights(nbytes))
        return card.clock() - start

    assert message_of("script_2", script_2).endswith(
        "It would be right if: (1) a launch returned only when its work is done, (2) the first "
        "launch did not compile."
    )


def test_a_trap_of_one_case_adds_nothing_to_a_mistake_with_a_name():
    text = (RIGHT / "bug_2/code_minus_zero.cu").read_text()
    weight = "scales[group] * (code - zeros[group])"
    of_bfloat16 = text.replace(weight, f"__bfloat162float(__float2bfloat16({weight}))")
    message = message_of("bug_2", of_bfloat16)
    assert "the weight is rounded to bfloat16" in message and "It would be right" not in message


@pytest.mark.parametrize("kind", [ValueError, ZeroDivisionError, MemoryError])
def test_an_answer_that_fails_without_a_trap_is_in_none(kind):
    def script_2(card, nbytes):
        card.launch(card.weights(nbytes))
        if card.compile_us == 0 or not card.asynchronous or card.l2_gb_per_s == card.read_gb_per_s:
            raise kind("of the answer")
        return 0.0 * card.clock()

    assert "It is none of the mistakes known here" in message_of("script_2", script_2)


def test_a_notebook_shows_the_message_alone():
    for error in (CheckFailed("so"), KernelTextError("so"), KernelFault("so")):
        assert error._render_traceback_() == [f"{type(error).__name__}: so"]


def test_an_answer_that_knows_only_the_fixed_cases_is_wrong():
    known = [
        (case.nbits, case.W_q, pack_warped_int32(case.W_q, case.nbits)) for case in PACK.cases()
    ]

    def pack(W_q, nbits):
        same = (words for width, W, words in known if width == nbits and torch.equal(W, W_q))
        return next(same, torch.zeros(3, 128, dtype=torch.int32)).clone()

    assert re.match(
        r"pack is wrong on 4-bit, N = 3, K = 1000, seed \d+: ", message_of("pack", pack)
    )


@pytest.mark.parametrize("name", [name for name in EXERCISES if EXERCISES[name].fresh(0)])
def test_fresh_cases_are_others_for_each_seed(name):
    first, second = (EXERCISES[name].fresh(seed)[0] for seed in (1, 10**6))
    one, other = tensors_of(first), tensors_of(second)
    assert first != second if not one else any(not torch.equal(one[t], other[t]) for t in one)
    assert first.label != second.label


def test_every_exercise_has_fresh_cases():
    assert all(exercise.fresh(0) for exercise in EXERCISES.values())


# ---- what a right answer leaves behind


def test_a_right_function_is_summed_up_in_one_line(capsys):
    check("pack", right_pack)
    count = len(EXERCISES["pack"].cases())
    assert capsys.readouterr().out == f"pack: right, bit for bit in {count} cases\n"


def test_a_right_kernel_is_summed_up_with_its_error_on_real_data(capsys):
    check("warp_reduce_sum", sources.hole("warp_reduce_sum", "gemv_a16w16_warp"))
    first, second = capsys.readouterr().out.splitlines()[:2]
    exact = sum(case.is_exact for case in EXERCISES["warp_reduce_sum"].cases())
    assert first == f"warp_reduce_sum: right, bit for bit in {exact} cases"
    label = re.escape("  real layer (ffn_up of MiniLM), M = 4")
    found = re.fullmatch(rf"{label}: largest error (\S+), allowed there (\S+)", second)
    assert 0 < float(found[1]) < float(found[2])


def test_a_right_number_is_summed_up_with_what_is_allowed(capsys):
    def script_1(card, nbytes):
        weights = card.weights(nbytes)
        card.launch(weights)
        card.synchronize()
        start = card.clock()
        card.launch(weights)
        card.synchronize()
        return 1.0002 * (card.clock() - start)

    check("script_1", script_1)
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first == "script_1: right, within 0.05% in every case"
    assert second.endswith("1000 GB/s: largest error 7.2e-03, allowed there 1.8e-02")


def test_no_line_says_that_a_number_has_no_error(capsys):
    check("floor_us", floor_us)
    assert capsys.readouterr().out == "floor_us: right, within 0.01% in every case\n"


@pytest.mark.parametrize("part, is_right", [(0.9e-4, True), (1.1e-4, False)])
def test_a_limit_may_be_off_by_a_part_of_it(part, is_right):
    for name, right in [("floor_us", floor_us), ("attainable_tflops", attainable_tflops)]:
        answer = lambda *limits, right=right: right(*limits) * (1 + part)  # noqa: E731
        if is_right:
            check(name, answer)
        else:
            assert "It is none of the mistakes known" in message_of(name, answer)


def test_only_what_passed_is_recorded(progress_file, capsys):
    with pytest.raises(CheckFailed):
        check("pack", lambda W_q, nbits: W_q)
    assert not progress_file.exists() and capsys.readouterr().out == ""
    check("unpack", right_unpack)
    assert json.loads(progress_file.read_text()) == {"unpack": "solved"}
    with pytest.raises(CheckFailed):
        check("unpack", lambda W_packed, nbits, K: None)
    assert json.loads(progress_file.read_text()) == {"unpack": "solved"}


# ---- hints


@pytest.mark.parametrize("name", EXERCISES)
def test_each_exercise_has_three_hints(name, capsys):
    said = []
    for level in (1, 2, 3):
        hint(name, level)
        said.append(capsys.readouterr().out)
    assert len(set(said)) == 3 and all(said)


@pytest.mark.parametrize("level", [0, 4, -1, "1", None])
def test_any_other_level_is_answered_with_the_ones_there_are(level, capsys):
    hint("pack", level)
    assert capsys.readouterr().out == 'pack has hints 1 to 3: hint("pack", 3) says the most\n'


def statements(code):
    lines = [re.sub(r"//.*|#.*", "", line).strip(" ;{}") for line in code.splitlines()]
    return {line for line in lines if len(line) > 12}


@pytest.mark.parametrize("name", EXERCISES)
def test_no_hint_is_the_code(name):
    solutions = {
        "pack": inspect.getsource(pack_warped_int32),
        "unpack": inspect.getsource(unpack_warped_int32),
        "warp_reduce_sum": sources.hole("warp_reduce_sum", "gemv_a16w16_warp"),
    }
    in_python = [path.read_text() for path in (RIGHT / name).glob("*.py")]
    code = solutions.get(name) or "".join(in_python) or sources.hole("dequant_dot", _FP32)
    assert statements(code)
    for said in EXERCISES[name].hints:
        assert not [line for line in statements(code) if line in said]


def test_a_function_of_the_package_is_no_answer():
    from gemlite_edu import scale_activations_int8

    with pytest.raises(CheckFailed, match="which the package brings: write it yourself"):
        check("quantize_tokens", scale_activations_int8)


@pytest.mark.parametrize("code", [0, 255])
def test_an_output_of_zeros_and_a_case_of_equal_codes_name_no_mistake(code):
    def pack(W_q, nbits):
        words = right_pack(W_q, nbits)
        return words if (W_q != code).any() else words * 0 if code else words | 1

    message = message_of("pack", pack)
    assert f"pack is wrong on 8-bit, N = 1, K = 128, all codes {code}: " in message
    said = "Your output is 0 everywhere." if code else "none of the mistakes known here"
    assert said in message and "exactly what comes out" not in message
