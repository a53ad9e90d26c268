"""Exercise of formats: mxfp4_encode(w), the codes of MXFP4 and the exponents of its scales."""

from dataclasses import replace

import torch

from gemlite_lab.checker.exercise import CheckFailed, Exercise
from gemlite_lab.checker.laid_otherwise import ALL_CONTIGUOUS
from gemlite_lab.checker.mxfp4_cases import (
    GROUP,
    MIDDLES,
    PARTS,
    cases,
    encoding_of,
    fresh,
    groups_of,
)
from gemlite_lab.sandbox.codes_of_nan import IntegerOfNaN, checked
from gemlite_lab.sandbox.sandbox import AnswerError

_TINY = 2.0**-100


def _expected(case):
    return encoding_of(case.w)[PARTS.index(case.part)].double(), None


def _run(answer, case, device):
    result = answer(case.w)
    if result is None:
        raise CheckFailed("mxfp4_encode returned None: write it, and return exponents, codes")
    if not isinstance(result, tuple | list) or len(result) != 2:
        count = f" of {len(result)}" if isinstance(result, tuple | list) else ""
        raise CheckFailed(
            f"mxfp4_encode returned a {type(result).__name__}{count}: return exponents, codes"
        )
    N, K = case.w.shape
    _check_kind("exponents", result[0], (N, K // GROUP), torch.int8, _why_exponents)
    _check_kind("codes", result[1], (N, K), torch.uint8, _why_codes)
    right = encoding_of(case.w)
    if case.part == "codes" and not torch.equal(result[0].long(), right[0]):
        raise CheckFailed(
            f"mxfp4_encode gives other exponents when it is called again with {case.label}: return "
            "the right exponents and the right codes from one call"
        )
    if case.part == "codes" and torch.equal(result[1].long(), right[1]):
        _refuse_integers_of_nan(answer, case)
    return result[PARTS.index(case.part)].double()


def _refuse_integers_of_nan(answer, case):
    """Raise CheckFailed for zeros that are right only because this CPU makes 0 of NaN."""
    if groups_of(case.w).any(2).all():
        return
    try:
        answer.run(checked, case.w)
    except AnswerError as error:
        if error.kind != IntegerOfNaN.__name__:
            raise
        at = f" at `{error.line}`" if error.line else ""
        raise CheckFailed(
            f"mxfp4_encode makes codes of nan{at} on {case.label}: a group of zeros is divided by "
            "0 there. This machine makes 0 of nan, another one may make any code of it. Let no "
            "exponent be below -127 before you compute the scale"
        ) from None


def _check_kind(name, tensor, shape, dtype, why):
    if not isinstance(tensor, torch.Tensor):
        raise CheckFailed(f"{name} is a {type(tensor).__name__}, expected a torch.Tensor")
    came = tuple(tensor.shape)
    if came != shape:
        raise CheckFailed(f"{name} has shape {came}, expected {shape}{why(came, shape)}")
    if tensor.dtype != dtype:
        raise CheckFailed(f"{name} has dtype {tensor.dtype}, expected {dtype}")


def _why_exponents(came, shape):
    """The end of a sentence that explains exponents of a wrong shape."""
    N, G = shape
    if came == (N, G, 1):
        return ": keepdim=True has kept the axis of the group"
    if came == (N, G * GROUP):
        return ": that is the shape of the codes; return exponents first, one for each group"
    if G == 1 and came == (N,) or N == 1 and came == (G,):
        return ": an axis of length 1 is gone; .squeeze() without a number takes every such axis"
    if came in ((N,), (N, 1)):
        return f": that is one for each row, and each {GROUP} neighbours along K have their own"
    if came[1:] == (G * GROUP,):
        return ": those groups lie along N; a group is 32 neighbours along K, w[n, 32 g + i]"
    return ""


def _why_codes(came, shape):
    N, K = shape
    if came == (N, K // GROUP, GROUP):
        return ": flatten the groups again"
    if came == (N, K // 2):
        return ": no codes are packed here, each has a byte of its own"
    return ""


def _reach(w):
    """w's largest |w| of a group beside each weight, in the shape of w."""
    return groups_of(w).abs().amax(2).repeat_interleave(GROUP, 1)


def _weights_changed(change):
    """A trap: the case with w change(w float32)."""
    return lambda case: replace(case, w=change(case.w.float()).to(case.w.dtype))


def _halfway_moved(w):
    """w with each element that lies halfway between two levels moved a little towards 0."""
    scales = 2.0 ** encoding_of(w)[0].float().repeat_interleave(GROUP, 1)
    halfway = torch.isin((w / scales).abs(), MIDDLES.float())
    return torch.where(halfway, w - w.sign() * scales / 8, w)


MXFP4_ENCODE = Exercise(
    name="mxfp4_encode",
    lesson="formats",
    output="output",
    dtype=torch.float64,
    is_kernel=False,
    hints=(
        "Take a group by hand whose largest |w| is 0.2, and in it w = -0.06. Between which powers "
        "of two is 0.2? What is s, what is -0.06 / s, which level is nearest, what is its code?",
        "Make w float64, and reshape it to (N, K / 32, 32): then amax along the last axis gives a "
        "for all groups. The base 2 logarithm of 0 is -inf; a clamp at -127 takes care of it too.",
        "|w| / s lies from 0 to 8, and levels are 1/2 apart below 2, 1 apart from 2 to 4, 2 apart "
        "above. So there are three cases, each a torch.round of something, plus 0, 2 or 4. "
        "torch.round takes ties to the even number, as the codes want it. Cut at 7 at the end.",
    ),
    cases=cases,
    fresh=fresh,
    expected=_expected,
    run=_run,
    runs_in="gemlite_lab.sandbox.codes_of_nan",
    traps={
        **ALL_CONTIGUOUS,
        "no group were all zeros": _weights_changed(lambda w: torch.where(_reach(w) == 0, 1, w)),
        "every group but those of zeros reached 2**-100": _weights_changed(
            lambda w: torch.where(_reach(w) < _TINY, w * 2.0**60, w)
        ),
        "no w lay halfway between two levels": _weights_changed(_halfway_moved),
        "w were float32": lambda case: replace(case, w=case.w.float()),
    },
)
