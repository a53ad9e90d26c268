"""Exercise of activation_quantization: quantize_tokens(x), int8 codes and token scales."""

from dataclasses import replace

import torch

from gemlite_edu.numbers.activations import scale_activations_int8
from gemlite_lab.checker.exercise import FLOAT32_ROUNDING, CheckFailed, Exercise
from gemlite_lab.checker.laid_otherwise import ALL_CONTIGUOUS
from gemlite_lab.checker.token_cases import PARTS, cases, fresh, largest
from gemlite_lab.sandbox.codes_of_nan import IntegerOfNaN, checked
from gemlite_lab.sandbox.sandbox import AnswerError

_SMALL = 2.0**-10
_SLIGHTLY = 2e-3


def _expected(case):
    x_q, scales = scale_activations_int8(case.x)
    if case.part == "x_q":
        return x_q.double(), None
    return scales.double(), None if case.is_exact else scales.double() * FLOAT32_ROUNDING


def _run(answer, case, device):
    result = answer(case.x)
    if result is None:
        raise CheckFailed("quantize_tokens returned None: write it, and return x_q, scales")
    if not isinstance(result, tuple | list) or len(result) != 2:
        count = f" of {len(result)}" if isinstance(result, tuple | list) else ""
        raise CheckFailed(
            f"quantize_tokens returned a {type(result).__name__}{count}: return x_q, scales"
        )
    M, K = case.x.shape
    _check_kind("x_q", result[0], (M, K), torch.int8)
    _check_kind("scales", result[1], (M, 1), torch.float32)
    right_codes, right_scales = scale_activations_int8(case.x)
    are_right_codes = torch.equal(result[0], right_codes)
    if case.part != PARTS[0] and not are_right_codes:
        raise CheckFailed(
            f"quantize_tokens gives other codes when it is called again with {case.label}: return "
            "the right codes and the right scales from one call"
        )
    if not are_right_codes:
        _check_rounded_scales(case, result[1], right_scales)
    elif case.part == PARTS[0] and not case.x.any(1).all():
        _refuse_codes_of_nan(answer, case)
    return result[PARTS.index(case.part)].double()


def _refuse_codes_of_nan(answer, case):
    """Raise CheckFailed for codes of zeros that are right only because this CPU makes 0 of NaN."""
    try:
        answer.run(checked, case.x)
    except AnswerError as error:
        if error.kind != IntegerOfNaN.__name__:
            raise
        at = f" at `{error.line}`" if error.line else ""
        raise CheckFailed(
            f"quantize_tokens makes codes of nan{at} on {case.label}: a token of zeros is divided "
            "by 0 there. This machine makes 0 of nan, another one may make any code of it. Put 1 "
            "where a scale is 0 before you divide"
        ) from None


def _check_rounded_scales(case, scales, right):
    """Raise CheckFailed for scales that are slightly off, which wrong codes would hide."""
    off = ((scales - right) / right).abs()
    if 0 < off.min() and off.max() < _SLIGHTLY:
        raise CheckFailed(
            f"quantize_tokens is wrong on {case.label}, because scales[0] is {scales[0].item():.9g}"
            f", expected {right[0].item():.9g}: divide the largest |x| by 127, which no rounded "
            "factor replaces"
        )


def _check_kind(name, tensor, shape, dtype):
    if not isinstance(tensor, torch.Tensor):
        raise CheckFailed(f"{name} is a {type(tensor).__name__}, expected a torch.Tensor")
    came = tuple(tensor.shape)
    if came != shape:
        why = (_why_shaped if name == "scales" else _why_codes_shaped)(came, shape[0])
        raise CheckFailed(f"{name} has shape {came}, expected {shape}{why}")
    if tensor.dtype != dtype:
        raise CheckFailed(f"{name} has dtype {tensor.dtype}, expected {dtype}")


def _why_shaped(came, M):
    """The end of a sentence that explains scales of a wrong shape."""
    if came == (M,):
        return ": keepdim=True keeps the axis, without which the scales would lie along K"
    if came in ((), (1,), (1, 1)):
        return ": that is one scale for the whole tensor, and each token has its own"
    if came == (1, M):
        return ": the scales of the tokens lie in a column, and a row has a scale for each k"
    if came[0] == 1:
        return ": that is a scale for each k; the scale of a token comes of its K values"
    return ""


def _why_codes_shaped(came, M):
    return ": that is the shape of the scales; return x_q first" if came == (M, 1) else ""


def _nonzero(scales):
    return torch.where(scales == 0, torch.ones_like(scales), scales)


def _tokens_changed(change):
    """A trap: the case with tokens change(x float32, largest |x|)."""

    def without(case):
        x = case.x.float()
        return replace(case, x=change(x, largest(x)).to(case.x.dtype))

    return without


def _halfway_moved(x, reach):
    """x with each element that lies halfway between two codes moved half a code towards 0."""
    scales = _nonzero(reach / 127)
    steps = x / scales
    halfway = (steps - steps.floor()) == 0.5
    return torch.where(halfway, x - 0.5 * scales * x.sign(), x)


QUANTIZE_TOKENS = Exercise(
    name="quantize_tokens",
    lesson="activation_quantization",
    output="output",
    dtype=torch.float64,
    is_kernel=False,
    tolerance="float32 rounding",
    hints=(
        "Take one token by hand: [3.0, -254.0]. The scale is how much one step of the codes is "
        "worth. What is it, and which two codes come out?",
        "Make x float32 first, whatever it is. Reduce |x| along the axis that a token lies on, and "
        "keep that axis, so that dividing x by the scales needs no reshaping.",
        "x.abs().amax(dim=1, keepdim=True) / 127. Put 1 where it is 0, before you divide; then "
        "round, and convert to int8 as the very last step.",
    ),
    cases=cases,
    fresh=fresh,
    expected=_expected,
    run=_run,
    runs_in="gemlite_lab.sandbox.codes_of_nan",
    traps={
        **ALL_CONTIGUOUS,
        "no token were all zeros": _tokens_changed(lambda x, reach: torch.where(reach == 0, 1, x)),
        "every token but those of zeros reached 0.001": _tokens_changed(
            lambda x, reach: torch.where(reach < _SMALL, x / _nonzero(reach / 127), x)
        ),
        "no x lay halfway between two codes": _tokens_changed(_halfway_moved),
        "x were float32": lambda case: replace(case, x=case.x.float()),
    },
)
