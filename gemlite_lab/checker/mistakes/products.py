"""Mistakes in a sum of products (code - zero) * x: in its formula, its numbers, and what it counts.

Parts: `value` (codes, zeros -> weights before the scale), `zero` and `x` (functions of these
numbers), `counted` (tiles, fields, lanes), and `add`, which adds up the products.
"""

import torch

from gemlite_lab.checker.mistakes.model import Mistake

CLAMPED = "clamped to 65504, the largest half; fp32 holds larger ones"
GROUP_0 = "group 0 is taken for all weights"
GROUP_0_OF_TILES = f"{GROUP_0}, as where GROUP divides the number of a tile, or the stride, not a k"
_LARGEST_HALF = torch.finfo(torch.float16).max


def right_parts(counted):
    return {
        "value": lambda code, zero: code - zero,
        "zero": lambda zero: zero,
        "x": lambda x: x,
        "counted": counted,
        "add": exact_sum,
    }


def exact_sum(x, weights):
    """y (M, N) of x (M, ...) and weights (N, ...)."""
    return x.flatten(1) @ weights.flatten(1).T


def value_mistakes(middle):
    """Mistakes in the formula code - zero. middle: the middle code."""
    values = {
        "the zero-point is forgotten": lambda code, zero: code,
        "the zero-point is added instead of subtracted": lambda code, zero: code + zero,
        "the code is subtracted from the zero-point": lambda code, zero: zero - code,
        "the zero-point multiplies the code": lambda code, zero: code * zero,
        "the code is left out: only the zero-point counts": lambda code, zero: -zero + 0 * code,
        "code minus zero-point is unsigned, so that it wraps around below 0": _unsigned,
        "the size of code minus zero-point is taken, without its sign": lambda c, z: (c - z).abs(),
        "code minus zero-point is not let below 0": lambda code, zero: (code - zero).clamp(min=0),
        "the zero-point is subtracted twice": lambda code, zero: code - 2 * zero,
    }
    zeros = {
        "the zero-point is taken to be the middle code": lambda zero: 0 * zero + middle,
        **({"the zero-point is taken to be 1": torch.ones_like} if middle != 1 else {}),
        "the zero-point is one too large": lambda zero: zero + 1,
        "the zero-point is one too small": lambda zero: zero - 1,
        "the zero-point is put in an integer, which cuts off its fraction": torch.trunc,
        "the zero-point is rounded to a whole number":
            lambda zero: zero.sign() * (zero.abs() + 0.5).floor(),
        "the middle code is subtracted besides the zero-point": lambda zero: zero + middle,
    }  # fmt: skip
    return [
        *(Mistake(words, {"value": value}) for words, value in values.items()),
        *(Mistake(words, {"zero": zero}) for words, zero in zeros.items()),
    ]


def rounded_to_even():
    return Mistake(
        "the zero-point is rounded to a whole number, from two equally near to the even one",
        {"zero": torch.round},
    )


def signed_zero_mistakes():
    """Mistakes that only zero-points with fractions and of both signs tell apart."""
    zeros = {
        "the sign of the zero-point is lost": torch.abs,
        "the zero-point is rounded down": torch.floor,
        "the zero-point is rounded up": torch.ceil,
    }
    return [Mistake(words, {"zero": zero}) for words, zero in zeros.items()]


def scale_mistakes():
    """Mistakes in the formula (code - zero) * scale, which an answer writes that scales itself."""
    values = {
        "the scale is left out": lambda code, zero, scale: code - zero,
        "the scale divides; here it multiplies": lambda code, zero, scale: (code - zero) / scale,
        "the weight is scaled twice": lambda code, zero, scale: (code - zero) * scale**2,
        "the zero-point is subtracted after the scale": lambda code, zero, scale: (
            code * scale - zero
        ),
        "the zero-point is added after the scale": lambda code, zero, scale: code * scale + zero,
        "the scale multiplies the zero-point only": lambda code, zero, scale: code - zero * scale,
        "the scale multiplies the zero-point, and then the difference too": lambda c, z, s: (
            (c - z * s) * s
        ),
        "the scaled code is subtracted from the zero-point": lambda c, z, s: z - c * s,
        "the zero-point is subtracted before and after the scale": lambda c, z, s: (c - z) * s - z,
        "the scale is added; it multiplies": lambda code, zero, scale: code - zero + scale,
        "the scale and the zero-point are exchanged": lambda code, zero, scale: (
            (code - scale) * zero
        ),
    }
    return [Mistake(words, {"value": value}) for words, value in values.items()]


def skipped_zeros():
    """Code 0 taken for no weight, in an answer that scales the weights itself."""
    return Mistake(
        "code 0 is skipped, but it stands for 0 - zero-point",
        {"value": lambda code, zero, scale: (code - zero) * scale * (code != 0)},
        is_alone=True,
    )


def then_scaled(mistakes):
    """The same mistakes where the value of a code is multiplied by its scale besides."""
    return [
        Mistake(m.words, {"value": _scaled(m.parts["value"])}) if "value" in m.parts else m
        for m in mistakes
    ]


def _scaled(value):
    return lambda code, zero, scale: value(code, zero) * scale


def group_mistakes(wrong_groups):
    """Mistakes in which group has the scale and the zero-point of a weight.

    wrong_groups: {mistake in words: the group of each weight}.
    """
    return [
        mistake
        for words, group in wrong_groups.items()
        for mistake in (
            Mistake(words, {"scale_group": group, "zero_group": group}),
            Mistake(f"{words} (for the scale alone)", {"scale_group": group}),
            Mistake(f"{words} (for the zero-point alone)", {"zero_group": group}),
        )
    ]


def shifted_groups(group, last):
    """Groups that are off by one, or the same for all weights."""
    return {
        "the group is the one behind the right one": (group + 1).clamp(max=last),
        "the group is the one before the right one": (group - 1).clamp(min=0),
        "the group is the one behind the right one, and behind the last comes the first": (
            (group + 1) % (last + 1)
        ),
        GROUP_0: 0 * group,
        "the last group is taken for all weights": 0 * group + last,
        "the groups are counted from the last one to the first": last - group,
    }


def _unsigned(code, zero):
    difference = code - zero
    return torch.where(difference < 0, difference + 2.0**32, difference).float().double()


def type_mistakes(x_dtype):
    """The mistake in the type of x where it is half or bfloat16."""
    names = {torch.half: "half", torch.bfloat16: "bfloat16"}
    return [
        Mistake(
            f"x is read as {name}, whatever X_T is",
            {"x": lambda x, other=other: x.to(x_dtype).view(other).double()},
        )
        for other, name in names.items()
        if x_dtype in names and x_dtype != other
    ]


def x_mistakes():
    return [
        Mistake("x is put in an integer, which cuts off its fraction", {"x": torch.trunc}),
        Mistake("the sign of x is lost", {"x": torch.abs}),
        Mistake("every product is counted twice", {"x": lambda x: 2 * x}),
        Mistake("x is left out: the weights alone are added up", {"x": lambda x: 0 * x + 1}),
    ]


def lost_subnormals():
    return Mistake(
        "an x below 2^-14, a subnormal half, counts as 0",
        {"x": lambda x: x * (x.abs() >= 2.0**-14)},
        is_alone=True,
    )


def count_mistakes(counted, code="code", word="word"):
    """Mistakes in which of the codes, lanes and tiles count. counted: (tiles, fields, lanes)."""
    return counts_of(counted, (("tile", "each row"), (code, f"each {word}"), ("lane", "each warp")))


def counts_of(counted, axes):
    """Mistakes in what counts along each axis of `counted`; axes: (name, the whole) of each."""
    found = []
    for axis, (name, whole) in enumerate(axes):
        length = counted.shape[axis]
        if length == 1:
            continue
        shape = [-1 if other == axis else 1 for other in range(counted.dim())]
        told = {}
        for words, count in _counts(name, whole, length).items():
            told.setdefault(tuple(count.double().tolist()), words)
        found += [
            Mistake(words, {"counted": counted * torch.tensor(count).view(shape)})
            for count, words in told.items()
            if set(count) != {1.0}
        ]
    return found


def mistakes_of_counts(counted, counts):
    """The mistakes of {words: how often each is counted} that are different from `counted`."""
    wrong = {words: counted * count.double() for words, count in counts.items()}
    return [
        Mistake(words, {"counted": count})
        for words, count in wrong.items()
        if not torch.equal(count, counted)
    ]


def twice_in_each_turn(turns_behind):
    """{mistake: how often a product counts}, where a loop makes so many turns behind its own."""
    words = "tl.dot is given the sum and adds to it, so that += of its result counts the sum twice"
    return {words: torch.pow(2.0, turns_behind.clamp(min=0).double())}


def _counts(name, whole, length):
    """{mistake in words: how often each of `length` is counted}."""
    at = torch.arange(length)
    return {
        f"only the first {name} of {whole} is used": at < 1,
        f"only the last {name} of {whole} is used": at == length - 1,
        f"only the second {name} of {whole} is used": at == 1,
        f"only the first half of the {name}s of {whole} is used": at < length // 2,
        f"only the second half of the {name}s of {whole} is used": at >= length // 2,
        f"only every other {name} of {whole} is used, from the first on": at % 2 == 0,
        f"only every other {name} of {whole} is used, from the second on": at % 2 == 1,
        f"the first {name} of {whole} is skipped": at > 0,
        f"the last {name} of {whole} is skipped": at < length - 1,
        f"the first {name} of {whole} is counted twice": 1 + (at == 0).double(),
        f"the last {name} of {whole} is counted twice": 1 + (at == length - 1).double(),
        f"only the first 4 {name}s of {whole} are used": at < 4,
        f"only the first 8 {name}s of {whole} are used": at < 8,
        f"only the first 16 {name}s of {whole} are used": at < 16,
    }


def rounding_mistakes():
    half, cut = _half, torch.trunc
    adds = {
        "each product is rounded to half precision": adding(of_product=half),
        "the sum is held in half precision": adding(of_sum=half),
        "the products and their sum are held in half precision": adding(half, half),
        "the sum of each word, or a lane's sum of all its words, is rounded to half precision":
            adding(of_word=half),
        "the sum is held in an integer, which cuts off the fraction": adding(of_sum=cut),
        "each product is put in an integer, which cuts off the fraction": adding(of_product=cut),
        "the sum of each word is put in an integer, which cuts off the fraction":
            adding(of_word=cut),
    }  # fmt: skip
    return [Mistake(words, {"add": add}) for words, add in adds.items()]


def bfloat16_mistakes():
    adds = {
        "each product is rounded to bfloat16": adding(of_product=_bfloat16),
        "the sum is held in bfloat16": adding(of_sum=_bfloat16),
        "the sum of each word is rounded to bfloat16": adding(of_word=_bfloat16),
    }
    return [Mistake(words, {"add": add}, is_alone=True) for words, add in adds.items()]


def clamp_mistakes():
    adds = {
        f"each product is {CLAMPED}": adding(of_product=_clamped),
        f"the sum is {CLAMPED}, after each product": adding(of_sum=_clamped),
        f"the sum of each word is {CLAMPED}": clamping_words,
    }
    return [Mistake(words, {"add": add}, is_alone=True) for words, add in adds.items()]


def clamping_words(x, weights):
    return adding(of_word=_clamped)(x, weights)


def _bfloat16(numbers):
    return numbers.bfloat16().double()


def _clamped(numbers):
    return numbers.clamp(-_LARGEST_HALF, _LARGEST_HALF)


def _same(numbers):
    return numbers


def _half(numbers):
    return numbers.half().double()


def adding(of_product=_same, of_sum=_same, of_word=_same):
    """How an answer adds up the products of a word, one after the other, each time rounded so.

    x (M, tiles, fields, lanes), weights (N, tiles, fields, lanes).
    """

    def add(x, weights):
        total = torch.zeros(len(x), len(weights), *x.shape[1:2], *x.shape[3:], dtype=x.dtype)
        for field in range(x.shape[2]):
            terms = x[:, None, :, field] * weights[None, :, :, field]
            total = of_sum(total + of_product(terms.float().double()))
        return of_word(total).flatten(2).sum(2)

    return add
