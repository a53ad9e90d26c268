"""Cases that differ in four elements and agree in all that a result may be kept by."""

from pathlib import Path

import pytest
import torch

from gemlite_lab.checker import EXERCISES, CheckFailed, cases, check
from gemlite_lab.checker.exchanged import with_exchanges
from gemlite_lab.checker.wrong_answers import as_answer

RIGHT = Path(__file__).parent.parent / "right"
KEPT_BY = """
import copy
_kept = {{}}


def {name}(*arguments):
    tensors = [a.double() for a in arguments if isinstance(a, torch.Tensor)]
    key = str([(t.shape, t[0], t[:, 0], {key}) for t in tensors] + list(arguments[len(tensors):]))
    if key not in _kept:
        _kept[key] = right(*arguments)
    return copy.deepcopy(_kept[key])
"""


@pytest.mark.parametrize("seed", range(5))
def test_exchanged_elements_change_no_edge_sum_or_count(seed):
    first, *others = with_exchanges(cases.codes(4, 16, 60, seed), "W_q", seed)
    at = torch.arange(16.0)[:, None] * 3 + torch.arange(60.0)
    assert len(others) == 8
    for other in others:
        one, two = first.W_q, other.W_q
        assert (one != two).sum() == 4
        assert (one.double() * at).sum() == (two.double() * at).sum()
        for axis in (0, 1):
            assert torch.equal(one.sort(axis).values, two.sort(axis).values)
            assert torch.equal(one.select(axis, 0), two.select(axis, 0))
            assert torch.equal(one.select(axis, -1), two.select(axis, -1))


def test_what_may_not_be_changed_stays_and_the_case_too():
    case = cases.codes(8, 16, 60, seed=0)
    before, is_free = case.W_q.clone(), case.W_q > 20
    for changed in with_exchanges(case, "W_q", 0, is_free):
        assert torch.equal(changed.W_q[~is_free], before[~is_free])
    assert torch.equal(case.W_q, before)


@pytest.mark.parametrize("shape", [(16, 5), (5, 60), (3, 3)])
def test_a_tensor_without_room_for_an_exchange_is_refused(shape):
    with pytest.raises(ValueError, match="no two rows and columns meet in four free places"):
        with_exchanges(cases.codes(4, *shape, seed=0), "W_q", 0)


@pytest.mark.parametrize(
    "key", ["t.flatten().sort().values.tolist()", "t.sum(0).tolist(), t.sum(1).tolist()"]
)
@pytest.mark.parametrize(
    "name", ["pack", "unpack", "pack_sparse", "quantize_tokens", "mxfp4_encode"]
)
def test_an_answer_that_keeps_results_by_a_weak_key_is_wrong(name, key):
    text = (RIGHT / name / "plain.py").read_text().replace(f"def {name}(", "def right(")
    text += KEPT_BY.format(name=name, key=key)
    with pytest.raises(CheckFailed, match="is right when this call is the first"):
        check(name, as_answer(EXERCISES[name], text, "kept"))


def test_a_zero_of_another_sign_gives_no_kept_result_another_key():
    text = (RIGHT / "mxfp4_encode/plain.py").read_text().replace("def mxfp4_encode(", "def right(")
    text += KEPT_BY.format(name="mxfp4_encode", key="t.flatten().sort().values.tolist()")
    with pytest.raises(CheckFailed, match="is right when this call is the first"):
        check("mxfp4_encode", as_answer(EXERCISES["mxfp4_encode"], text, "kept"), seed=37)
