"""What check() knows of wrong answers: each mistake shows, and is told from all others."""

from functools import cache

import pytest

from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.compare import is_close

NAMES = list(EXERCISES)
GEMVS = [name for name in NAMES if EXERCISES[name].output == "y"]
LOW_BIT = [name for name in NAMES if name.startswith(("pack", "unpack", "dequant_dot"))]


@cache
def cases_of(name):
    """[(case, right output, bound)] in the order in which an answer meets them."""
    return [(case, *EXERCISES[name].expected(case)) for case in EXERCISES[name].cases()]


def designed_cases(name):
    """The cases of an exercise but for the real layer, which is what it is."""
    return [case for case, *_ in cases_of(name) if getattr(case, "is_exact", True)]


@cache
def wrong_output(name, mistake, index):
    """The output of a mistake on a case where it applies and shows, else None."""
    case, right, bound = cases_of(name)[index]
    output = EXERCISES[name].mistakes[mistake](case)
    return None if output is None or is_close(output, right, bound).all() else output


def first_met(name, mistake):
    """Index of the case on which an answer with this mistake is rejected."""
    indices = range(len(cases_of(name)))
    return next((i for i in indices if wrong_output(name, mistake, i) is not None), None)


@pytest.mark.parametrize("name", NAMES)
def test_every_mistake_shows(name):
    for mistake in EXERCISES[name].mistakes:
        assert first_met(name, mistake) is not None, mistake


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_is_told_from_all_others_where_it_is_met_first(name):
    for mistake in EXERCISES[name].mistakes:
        index = first_met(name, mistake)
        output, right_bound = wrong_output(name, mistake, index), cases_of(name)[index][2]
        for other in EXERCISES[name].mistakes:
            theirs = wrong_output(name, other, index)
            if other != mistake and theirs is not None:
                bound = EXERCISES[name].bound_around(theirs, right_bound)
                assert not is_close(output, theirs, bound).all(), (mistake, other)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_outputs_have_the_right_shape_and_dtype(name):
    """Otherwise no answer would ever be compared with them."""
    case, right, _ = cases_of(name)[0]
    for mistake, output_of in EXERCISES[name].mistakes.items():
        output = output_of(case)
        if output is not None:
            assert (output.shape, output.dtype) == (right.shape, EXERCISES[name].dtype), mistake


@pytest.mark.parametrize("name", LOW_BIT)
def test_every_code_occurs(name):
    for case in designed_cases(name):
        if case.W_q.numel() >= 2**case.nbits:
            assert case.W_q.unique().tolist() == list(range(2**case.nbits)), case.label


@pytest.mark.parametrize("name", GEMVS)
def test_every_k_meets_an_x(name):
    for case in designed_cases(name):
        assert (case.x != 0).any(0).all(), case.label


@pytest.mark.parametrize("name", LOW_BIT)
def test_each_width_has_several_rows_and_tiles_and_a_ragged_one(name):
    cases = designed_cases(name)
    for nbits in {case.nbits for case in cases}:
        tile = 32 * (32 // nbits)
        shapes = [case.W_q.shape for case in cases if case.nbits == nbits]
        assert any(N > 1 and K > tile and K % tile for N, K in shapes), nbits


@pytest.mark.parametrize("name", GEMVS)
def test_kernels_meet_a_last_block_that_is_not_full(name):
    outputs = [right.shape[1] for _, right, _ in cases_of(name)]
    assert any(N > 32 and N % 32 for N in outputs)


@pytest.mark.parametrize("name", [name for name in LOW_BIT if name.startswith("dequant_dot")])
def test_neighbouring_rows_differ_in_scale_and_zero_point(name):
    for case in designed_cases(name):
        assert (case.scales[1:] != case.scales[:-1]).all(), case.label
        if case.zeros.any():
            assert (case.zeros[1:] != case.zeros[:-1]).all(), case.label
