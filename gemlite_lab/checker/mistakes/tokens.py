"""Mistakes in quantize_tokens: the scale, the rounding, and the type of the numbers."""

from functools import partial

import torch

from gemlite_lab.checker.mistakes.model import Mistake, Model

_SMALL = (1e-5, 1e-6, 1e-8, 1e-10, 1e-12)
_FLOORS = (1e-4, *_SMALL, 1e-7, 1e-9, 1e-15, 1e-16, 1e-20, 1e-30, 1e-38, 2.0**-126)
_QUANTILES = 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999
_MOST_OF_QUANTILE = 2**20  # numbers of x, for which quantiles are looked for
_TINY = 1e-22  # far below the scales of all tokens but one
_SMALLEST_REACH = 1e-36  # the tokens of the exercise are no smaller
_PARTS_OF_127 = {f"{part:g}": part for part in (0.0078, 0.00787, 0.007874, 0.0079, 0.008)} | {
    "1 / 127 in half precision": float(torch.tensor(1 / 127).half()),
    "1 / 127, which is rounded": 1 / 127,
}


def _parts_of(case):
    return {
        "x": case.x.float(),
        "part": case.part,
        "reach": lambda x: x.abs().amax(1, keepdim=True),
        "divisor": 127,
        "scaled": lambda reach, divisor: reach / divisor,
        "guarded": lambda scales: torch.where(scales == 0, torch.ones_like(scales), scales),
        "steps": lambda x, scales: x / scales,
        "rounded": torch.round,
        "fitted": lambda codes: codes,
        "returned": lambda scales: scales,
    }


def _output(parts):
    reach = parts["reach"](parts["x"])
    scales = parts["guarded"](parts["scaled"](reach, parts["divisor"]))
    if parts["part"] == "scales":
        return parts["returned"](scales).float().double().expand(len(parts["x"]), 1)
    codes = parts["fitted"](parts["rounded"](parts["steps"](parts["x"].float(), scales.float())))
    return ((codes.double().nan_to_num(0.0, 0.0, 0.0) + 128) % 256).trunc() - 128


def _floors():
    """{mistake in words: scales that are not let below a floor}."""
    of_scale, of_reach = {}, {}
    for floor in _FLOORS:
        of_scale[f"the scale is at least {floor:g}, that of a token of zeros too"] = partial(
            torch.clamp, min=floor
        )
        of_reach[f"the largest |x| counts as at least {floor:g}, in a token of zeros too"] = (
            partial(torch.clamp, min=float(torch.tensor(floor) / 127))
        )
    small = {
        f"the scale of every token but those of zeros is at least {floor:g}": partial(
            _or_1, floor=floor
        )
        for floor in _SMALL
    }
    small |= {
        f"the largest |x| of every token but those of zeros counts as at least {floor:g}": partial(
            _or_1, floor=float(torch.tensor(floor) / 127)
        )
        for floor in _SMALL
        if floor > _SMALLEST_REACH
    }
    return of_scale | of_reach | small


def _or_1(scales, floor):
    return torch.where(scales == 0, 1, scales.clamp(min=floor))


def _away(steps):
    return torch.trunc(steps + steps.sign() * 0.5)


def _clamped(low, high):
    return lambda codes: codes.clamp(low, high)


def _mistakes_of(case):
    wrong = {
        "reach": {
            "the largest x is taken, not the largest |x|": lambda x: x.amax(1, keepdim=True),
            "the smallest x is taken, not the largest |x|": lambda x: -x.amin(1, keepdim=True),
            "the size of the largest x is taken, not the largest |x|":
                lambda x: x.amax(1, keepdim=True).abs(),
            "the smallest |x| is taken, not the largest": lambda x: x.abs().amin(1, keepdim=True),
            "the mean |x| is taken, not the largest": lambda x: x.abs().mean(1, keepdim=True),
            "largest x - smallest x is taken, not the largest |x|":
                lambda x: x.amax(1, keepdim=True) - x.amin(1, keepdim=True),
            "half of largest x - smallest x is taken, not the largest |x|":
                lambda x: (x.amax(1, keepdim=True) - x.amin(1, keepdim=True)) / 2,
            "the root of the mean square is taken, not the largest |x|":
                lambda x: x.square().mean(1, keepdim=True).sqrt(),
            "the sum of |x| is taken, not the largest": lambda x: x.abs().sum(1, keepdim=True),
            "the standard deviation is taken, not the largest |x|":
                lambda x: x.std(1, keepdim=True, correction=0),
            "all tokens have the scale of the token with the largest |x|":
                lambda x: x.abs().amax().expand(len(x), 1),
            "all tokens have the scale of token 0": lambda x: x[:1].abs().amax().expand(len(x), 1),
        },
        "divisor": {
            "the scale is the largest |x| / 128": 128,
            "the scale is the largest |x| / 126": 126,
            "the scale is the largest |x| / 127.5": 127.5,
            "the scale is the largest |x| / 255": 255,
            "the scale is the largest |x| / 256": 256,
            "the scale is the largest |x| / 7, as of 4-bit codes": 7,
            "the scale is the largest |x| / 15, as of 4-bit codes": 15,
            "the scale is the largest |x|, not yet divided by 127": 1,
        },
        "scaled": {
            f"the largest |x| is multiplied by {words}; it is divided by 127":
                lambda reach, divisor, part=part: reach * part
            for words, part in _PARTS_OF_127.items()
        },
        "guarded": {
            "a token whose largest |x| is tiny counts as one of zeros, with the scale 1":
                lambda scales: torch.where(scales < _TINY, 1, scales),
            "a token of zeros has the scale 0": lambda scales: scales,
            **{f"{small:g} is added to the scale": lambda scales, small=small: scales + small
               for small in _SMALL},
            **_floors(),
        },
        "steps": {
            "x is multiplied by the scale; it is divided by it": lambda x, scales: x * scales,
            "x is multiplied by 1 / scale, which is rounded; x / scale is rounded only once":
                lambda x, scales: x * (1 / scales),
            "x is multiplied by 127 / largest |x|, which is rounded; x / scale is rounded once":
                lambda x, scales: x * (127 / (scales * 127)),
            "x is divided by the largest |x| and then multiplied by 127, which rounds twice":
                lambda x, scales: x / (scales * 127) * 127,
            "x is multiplied by 127 before it is divided, and large x become infinite":
                lambda x, scales: (x * 127 / (scales * 127)).clamp(-127, 127),
            "x is multiplied by 127 before it is divided, and the code of infinity is 0 here":
                lambda x, scales: x * 127 / (scales * 127),
            "the scale is divided by x; x is divided by the scale": lambda x, scales: scales / x,
            "x is divided by a scale that is not rounded yet, not by the float32 one returned":
                lambda x, scales: x.double() / (x.double().abs().amax(1, keepdim=True) / 127),
            "x is not divided by the scale": lambda x, scales: x,
            "the sign is lost: the codes are those of |x|": lambda x, scales: (x / scales).abs(),
            "the sign of every code is the other one": lambda x, scales: -x / scales,
            "128 is added to the codes, as a zero-point does": lambda x, scales: x / scales + 128,
            **{f"{small:g} is added to the scale by which x is divided":
               lambda x, scales, small=small: x / (scales + small) for small in _SMALL},
            "x / scale is rounded to float16 before it is rounded to a code":
                lambda x, scales: (x / scales).half().float(),
            "x / scale is rounded to bfloat16 before it is rounded to a code":
                lambda x, scales: (x / scales).bfloat16().float(),
            "the steps are computed in float16": lambda x, s: (x.half() / s.half()).float(),
            "the steps are computed in bfloat16":
                lambda x, s: (x.bfloat16() / s.bfloat16()).float(),
        },
        "rounded": {
            "x / scale is cut off instead of rounded, as .to(torch.int8) does": torch.trunc,
            "x / scale is rounded down": torch.floor,
            "x / scale is rounded up": torch.ceil,
            "x / scale is rounded half away from 0; torch.round goes to the even one": _away,
            "x / scale is rounded half towards 0; torch.round goes to the even one":
                lambda steps: steps.sign() * torch.ceil(steps.abs() - 0.5),
            "x / scale is rounded half up; torch.round goes to the even one":
                lambda steps: torch.floor(steps + 0.5),
            "0.5 is added to x / scale, which is then cut off: negative codes are one too large":
                lambda steps: torch.trunc(steps + 0.5),
        },
        "fitted": {
            "negative codes are clamped to 0": _clamped(0, 127),
            "codes are clamped to 0 to 255": _clamped(0, 255),
            "codes beyond 127 are clamped": _clamped(-128, 127),
            "codes are clamped to -8 to 7, those of 4 bits": _clamped(-8, 7),
            "codes are clamped to -127 to 126": _clamped(-127, 126),
            "codes are clamped to -1 to 1": _clamped(-1, 1),
        },
        "returned": {
            "the scale that is returned is 127 / largest |x|, by which x was multiplied":
                lambda scales: 1 / scales,
            "the scale that is returned is the largest |x|, not yet divided by 127":
                lambda scales: scales * 127,
            "only the scale that is returned is rounded to fp16": lambda s: s.half().float(),
            "only the scale that is returned is rounded to bfloat16": 
                lambda scales: scales.bfloat16().float(),
        },
    }  # fmt: skip
    found = [
        Mistake(words, {name: value}) for name, of_part in wrong.items()
        for words, value in of_part.items()
    ]  # fmt: skip
    low, high = case.x.float().aminmax(dim=1, keepdim=True)
    return [
        *found,
        *_of_sums_that_cancel(case.x.float()),
        *(_of_quantiles() if case.x.numel() <= _MOST_OF_QUANTILE else ()),
        *_of_range("(largest x - smallest x) / 255", low, high),
        *_of_range("(largest - smallest of x and 0) / 255", low.clamp(max=0), high.clamp(min=0)),
    ]


def _of_sums_that_cancel(x):
    """The scale 1 for each token whose x cancel, with codes that wrap around, or are clamped."""
    guarded = {"guarded": lambda scales: torch.where(x.sum(1, keepdim=True) == 0, 1, scales)}
    words = "a scale is 1 where the sum of the token's x is 0; x may cancel, so ask for the scale"
    clamped = guarded | {"fitted": _clamped(-127, 127)}
    return [Mistake(words, guarded), Mistake(f"{words} (codes are clamped)", clamped)]


def _of_quantiles():
    """A quantile of |x| for the largest, with codes that are clamped, or wrap around."""
    return [
        Mistake(
            f"the {part:g} quantile of |x| is taken, not the largest; codes beyond 127 {how}",
            {"reach": partial(_quantile, part=part), **fitted},
        )
        for part in _QUANTILES
        for how, fitted in (
            ("are clamped", {"fitted": _clamped(-127, 127)}),
            ("wrap around", {}),
        )
    ]


def _quantile(x, part):
    return x.abs().quantile(part, dim=1, keepdim=True)


def _of_range(scale, low, high):
    """Scales over the whole range of a token, as weights have, with zero-points and without."""
    parts = {"reach": lambda x: high - low, "divisor": 255}
    added = {
        "a rounded zero-point": lambda scales: (-low / scales).round(),
        "a zero-point": lambda scales: -low / scales,
        "a rounded zero-point less 128": lambda scales: (-low / scales).round() - 128,
        "a zero-point less 128": lambda scales: -low / scales - 128,
    }
    return [
        Mistake(f"the scale is {scale}, which needs a zero-point", parts),
        *(
            Mistake(
                f"the scale is {scale}, and {words} is added; a token has none",
                parts | {"steps": lambda x, scales, zeros=zeros: x / scales + zeros(scales)},
            )
            for words, zeros in added.items()
        ),
    ]


TOKENS = Model(_parts_of, _mistakes_of, _output)
