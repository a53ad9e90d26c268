"""Models of mistakes: they compute right outputs too, tell mistakes apart, and know two at once."""

from dataclasses import replace

import pytest
import torch

from gemlite_lab.checker import EXERCISES, CheckFailed, check
from gemlite_lab.checker.exercise import tensors_of
from gemlite_lab.checker.mistakes import names
from gemlite_lab.checker.mistakes.model import Mistake, without_twins
from gemlite_lab.checker.mistakes.names import MODELS, explanations
from gemlite_lab.checker.mistakes.products import CLAMPED

# What an exercise cannot see, as its numbers are whole, or what is no mistake there.
_UNSEEN = {
    "the zero-point is put in an integer, which cuts off its fraction",
    "the zero-point is rounded to a whole number",
    "x is put in an integer, which cuts off its fraction",
    "the values are put in integers, which cuts off their fractions",
    "the values are put in half precision",
    "the table goes from the smallest to the largest value",
    "each product is put in 16 bits",
    "the sum of each word, or a lane's sum of all its words, is rounded to half precision",
    "y is rounded to half precision before it is rounded to X_T",
    "codes beyond 127 are clamped",
    "words of ones alone are skipped, but each of their codes stands for a number",
    "the loop ends at an x of 0, but the codes behind it meet an x of their own",
    "even and odd k are exchanged (for x and for the codes)",
    "groups from 10 on are taken for earlier ones (for the scale alone)",
    "groups from 16 on are taken for earlier ones (for the zero-point alone)",
    "groups from 20 on are taken for earlier ones (for the scale alone)",
    "groups from 32 on are taken for earlier ones (for the zero-point alone)",
}
_ONE_BIT_SHORT = "the mask is one bit short, so that the highest bit of each code is lost"
_SWAPPED = "the two codes of each pair of fields are swapped"
_FIRST_TILE = "only the first tile of each row is used"
_SECOND_LANE = "only the second lane of each warp is used"
_SIGNED_TOP = (
    "the code in the highest bits of each word is sign-extended: >> of a signed word keeps its "
    "sign; the other codes are right"
)
_SKIPPED = "code 0 is skipped, but it stands for 0 - zero"
_NO_PARENTHESES = "parentheses are missing: x multiplies the zero-point alone, not code - zero"
_LAST_SUM = "the sum of the last group of each word is never added"
_DIVIDES = "the scale divides; here it multiplies"
_BEHIND = "the group is the one behind the right one (for the zero-point alone)"
_BEFORE = "the group is the one before the right one (for the scale alone)"
_WORDS = ("dequant_dot", "scaled_dot", "bug_1", "dequant_dot_dp4a", "dequant_dot_fp4")
_DOTS = ("dequant_dot", "scaled_dot")
_LINEAR = ("dequant_dot", "dequant_dot_4bit", "dequant_dot_2bit")
_GROUPED = ("scaled_dot", "bug_2", "bug_3")
_GROUPS = ("scaled_dot", "bug_2", "splitk_group", "splitk_scales", "gemv_revsplitk")
_NAMED_IN = {
    _ONE_BIT_SHORT: (*_WORDS, "pack", "unpack", "unpack_tile", "dequant_dot_sparse"),
    _SWAPPED: (*_WORDS, "pack", "unpack", "unpack_tile", "dequant_dot_sparse"),
    _SIGNED_TOP: (*_WORDS[:-1], "unpack", "unpack_tile", "dequant_dot_sparse"),
    _SKIPPED: ("dequant_dot", "dequant_dot_4bit", "dequant_dot_2bit", "scaled_dot", "bug_2"),
    _NO_PARENTHESES: ("scaled_dot", "bug_2", "bug_3", *_LINEAR),
    _LAST_SUM: ("scaled_dot", "bug_2", "bug_3"),
    _SECOND_LANE: (*_WORDS, "dequant_dot_sparse"),
    _FIRST_TILE: (*_WORDS, "unpack", "dequant_dot_sparse"),
    _DIVIDES: (*_GROUPS, "mixed_mm_transposed"),
    _BEHIND: (*_GROUPS, "mixed_mm_transposed"),
    _BEFORE: _GROUPS,
    "m / 2 divides integers, so that the mantissa counts only where the exponent is 0": (
        "dequant_dot_fp4",
    ),
    "parentheses are missing: x multiplies the code alone, not code - zero, or zero is taken away "
    "without its x": _LINEAR,
    "bytes that are 0 are skipped, but their code 0 stands for 0 - zero-point": (
        "dequant_dot_sparse",
    ),
}


def small(cases):
    """Those whose tensors are so small that hundreds of mistakes take no time."""
    return [case for case in cases if all(t.numel() <= 45_000 for t in tensors_of(case).values())]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_computes_the_right_output(name):
    exercise, model = EXERCISES[name], MODELS[name]
    for case in small([*exercise.cases(), *exercise.fresh(7)]):
        right, _ = exercise.expected(case)
        is_equal = names._equality(exercise, case)
        assert is_equal(right, model.output(model.parts(case)), None), case.label


@pytest.mark.parametrize("name", MODELS)
def test_every_mistake_gives_a_wrong_output_in_some_case(name):
    exercise, model = EXERCISES[name], MODELS[name]
    known, unseen = set(), set()
    for case in small(exercise.cases()):
        right, _ = exercise.expected(case)
        is_equal = names._equality(exercise, case)
        parts = model.parts(case)
        for mistake in model.mistakes(case):
            if mistake.words in known - unseen:
                continue
            known.add(mistake.words)
            unseen.discard(mistake.words)
            if is_equal(right, model.output(parts | mistake.parts), None):
                unseen.add(mistake.words)
    assert unseen <= _UNSEEN


@pytest.mark.parametrize("words, exercises", _NAMED_IN.items(), ids=lambda value: str(value)[:40])
def test_a_mistake_is_named_wherever_it_applies(words, exercises):
    for name in exercises:
        exercise = EXERCISES[name]
        case = next(case for case in exercise.cases() if is_shown_by(case, exercise, words))
        assert words in said(name, case, (words,)), name


@pytest.mark.parametrize(
    "words, exercises",
    {
        "words that are 0 are skipped, but each of their codes stands for 0 - zero-point": (
            "scaled_dot",
            "dequant_dot_sparse",
        ),
        "the sign of the zero-point is lost": _DOTS,
        "the zero-point is rounded up": _DOTS,
        "the scale is rounded to half precision": _GROUPED,
        "the weight is rounded to bfloat16": _GROUPED,
        "the sums are clamped to 65504, the largest half; fp32 holds larger ones": (
            "warp_reduce_sum",
        ),
        "the sum of each word is rounded to bfloat16": _DOTS,
        "the sum of each word is cut to TF32, which has 10 bits behind the point": _DOTS,
        "the sum of each word is cut to bfloat16, which has 7": _DOTS,
        "zero is subtracted from the sum of each word; this format has no zero-point": (
            "dequant_dot_fp4",
        ),
        "the mask is 0x3F030303, four bits too many: other codes stay above the fourth": (
            "four_codes",
        ),
        "parentheses are wrong: the mask meets 2 * i, not the shifted word": ("four_codes",),
        "the width of each shuffle is its offset, so that every lane gets its own value": (
            "warp_reduce_sum",
        ),
        "code 3 stands for -1; codes are unsigned, so it is 3": _DOTS,
        f"a product or a sum is {CLAMPED}": ("scaled_dot",),
        "the scale is at least 1e-10, that of a token of zeros too": ("quantize_tokens",),
        "the largest |x| counts as at least 1e-10, in a token of zeros too": ("quantize_tokens",),
        "the shift is NBITS + field; it is NBITS * field": ("unpack_tile",),
        "the shift is NBITS * field + 1, one bit too far": ("unpack_tile",),
    }.items(),
    ids=lambda value: str(value)[:40],
)
def test_a_mistake_is_named_in_the_first_case_that_shows_it(words, exercises):
    for name in exercises:
        exercise = EXERCISES[name]
        case = next(case for case in small(exercise.cases()) if is_shown_by(case, exercise, words))
        assert words in said(name, case, (words,)), name


def is_shown_by(case, exercise, words):
    right, _ = exercise.expected(case)
    is_equal = names._equality(exercise, case)
    return not is_equal(MODELS[exercise.name].wrong(case, (words,)), right.double(), None)


def said(name, case, mistakes):
    """What is found behind the output of these mistakes, as a text."""
    exercise, model = EXERCISES[name], MODELS[name]
    output = model.wrong(case, mistakes)

    def answer(*_):
        raise AssertionError("it is told without another run")

    made = exercise, answer, case, output
    return str(explanations(*made, 1) or explanations(*made, 2))


@pytest.mark.parametrize(
    "name, mistakes",
    [
        ("dequant_dot", (_ONE_BIT_SHORT, "the zero-point is forgotten")),
        ("scaled_dot", (_BEFORE, _BEHIND)),
        ("pack", (_SWAPPED, "the padding is in front of each row instead of behind it")),
        ("floor_us", ("the time is in seconds", "only the scales are counted, not the zeros")),
    ],
)
def test_two_mistakes_are_told_together(name, mistakes):
    found = said(name, EXERCISES[name].cases()[0], mistakes)
    assert all(mistake in found for mistake in mistakes)


def test_two_mistakes_in_one_width_are_told_where_another_width_was_right():
    first, *others = EXERCISES["dequant_dot"].cases()
    other = next(case for case in small(others) if case.nbits != first.nbits)
    mistakes = _ONE_BIT_SHORT, "the zero-point is forgotten"
    assert all(mistake in said("dequant_dot", other, mistakes) for mistake in mistakes)


def test_no_pair_is_made_of_a_mistake_that_a_case_before_contradicts(monkeypatch):
    exercise, model, made = EXERCISES["fused_gemv"], MODELS["fused_gemv"], []

    def output(parts):
        made.append(parts)
        return model.output(parts)

    monkeypatch.setitem(MODELS, exercise.name, replace(model, output=output))
    _, second, *_ = exercise.cases()
    mistakes = model.mistakes(second)
    unknown = exercise.expected(second)[0].double() + 0.5
    assert explanations(exercise, None, second, unknown, 2) == []
    assert len(made) < 2 * len(mistakes)


def test_twins_have_the_same_parts_also_where_torch_prints_not_all_of_them():
    long = torch.zeros(5000)
    other = long.clone()
    other[2500] = 1
    assert str(long) == str(other)
    first, second, third = (
        Mistake(w, {"part": p}) for w, p in zip("abc", (long, other, long), strict=True)
    )
    assert {mistake.words for mistake in without_twins([first, second, third])} == {"a", "b"}


def test_a_right_output_is_no_mistake():
    for name in ("pack", "dequant_dot", "four_codes"):
        case = EXERCISES[name].cases()[0]
        assert said(name, case, ()) == "[]"


def test_an_output_that_is_mostly_infinite_is_no_mistake():
    case = EXERCISES["dequant_dot"].cases()[0]
    output = torch.full_like(EXERCISES["dequant_dot"].expected(case)[0], torch.inf)
    assert explanations(EXERCISES["dequant_dot"], None, case, output, 1) == []


def test_a_mistake_is_said_in_a_sentence():
    def floor_us(N, K, nbits, group_size, read_gb_per_s):
        return (N * K * nbits + N * K / group_size * 4) / (read_gb_per_s * 1e3)

    with pytest.raises(CheckFailed, match="when the bits of the codes are counted as bytes.$"):
        check("floor_us", floor_us)


@pytest.mark.parametrize(
    "code_bytes, group_bytes, said",
    [
        ("nbits / 8", "4 * (K // 128)", "a row has K // 128 groups, whatever group_size is."),
        ("nbits / 8", "4 * (K / 32)", "a row has K / 32 groups, whatever group_size is."),
        ("4 / 8", "4 * K / group_size", "each code takes half a byte, whatever nbits is."),
        ("(nbits // 8)", "4 * K / group_size", "a code takes nbits // 8 bytes, which is 0 below 8"),
        ("nbits / 8", "K / group_size", "It is none of the mistakes known here"),
    ],
)
def test_a_mistake_that_gives_the_time_of_another_in_one_case_is_not_taken_for_it(
    code_bytes, group_bytes, said
):
    def floor_us(N, K, nbits, group_size, read_gb_per_s):
        sizes = {"N": N, "K": K, "nbits": nbits, "group_size": group_size}
        return N * eval(f"K * {code_bytes} + {group_bytes}", sizes) / (read_gb_per_s * 1e3)

    with pytest.raises(CheckFailed) as caught:
        check("floor_us", floor_us)
    assert said in str(caught.value)


def test_two_mistakes_are_said_in_one_sentence():
    def floor_us(N, K, nbits, group_size, read_gb_per_s):
        return (N * K * nbits / 8 + N * K / group_size * 2) / read_gb_per_s

    with pytest.raises(CheckFailed, match=r"of two mistakes: \(1\) .*, \(2\) .*") as caught:
        check("floor_us", floor_us)
    assert "only the scales are counted" in str(caught.value)
