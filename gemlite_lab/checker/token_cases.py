"""Tokens for the exercise quantize_tokens: ties, their neighbours, zeros, the ends of a dtype."""

from dataclasses import dataclass, replace
from functools import cache

import torch

from gemlite_lab.checker.alike_inputs import alike_inputs
from gemlite_lab.checker.exchanged import with_exchanges
from gemlite_lab.checker.laid_otherwise import laid_in_every_way, middle_rolled
from gemlite_lab.checker.usual_sizes import usual_sizes
from gemlite_lab.lesson.real_layer import real_layer

PARTS = ("x_q", "scales")  # in the order in which they are judged
_DTYPES = torch.float16, torch.bfloat16, torch.float32
_CODES = (0.25, 0.5, 0.75, 1.5, 2.5, 3.0, 17.75, 40.5, 41.5, 63.25, 64.25, 99.5, 100.25, 126.5)
_EXPONENTS = (0, -3, -5, 2, -1, 7, -8, 1)
_NEAR_A_TIE = 1e-4
_MANY_TOKENS, _MANY_COLUMNS = 1200, 9000


@dataclass(frozen=True)
class Tokens:
    """x (M, K), and the part of its quantization that is judged.

    is_exact: scales are judged bit for bit. Most are powers of two, so that x / scale is exact and
    may lie halfway between codes.
    """

    label: str
    part: str
    x: torch.Tensor
    is_exact: bool


def _exact(x_dtype, K, exponents, seed):
    """One token of scale 2**e per exponent e, or of zeros for None; the third is negative."""
    generator = torch.Generator().manual_seed(seed)
    M, codes = len(exponents), torch.tensor(_CODES)
    codes = codes[codes.to(x_dtype) == codes]
    values = codes[torch.randint(0, len(codes), (M, K), generator=generator)]
    values *= torch.randint(0, 2, (M, K), generator=generator) * 2 - 1
    ends = torch.arange(M) % 2 * 254 - 127  # the largest |x| is negative in every other token
    values[torch.arange(M), torch.randint(0, K, (M,), generator=generator)] = ends.float()
    values[2:3] = -values[2:3].abs()
    scales = torch.tensor([0.0 if e is None else 2.0**e for e in exponents])[:, None]
    x = (values * scales).to(x_dtype)
    assert torch.equal(x.float(), values * scales)
    return _both(f"{M} tokens, K = {K}, {_name(x_dtype)}", x, True)


def _uneven(tokens=4):
    """Tokens whose x lie halfway between two codes, where float32 x times 1 / scale does not."""
    scales = torch.arange(3.0, 256.0, 2.0).view(-1, 1)
    x = (torch.arange(127) + 0.5) * scales
    right, wrong = torch.round(x / scales), torch.round(x * (1 / scales))
    in_float64 = torch.round(x.double() * (1 / scales.double()))
    is_telling = (wrong != right) & (in_float64 == right)
    rows = is_telling.sum(1).topk(tokens).indices
    x, scales = torch.where(is_telling, x, scales)[rows], scales[rows]
    label = f"{tokens} tokens, K = 128, float32, x between two codes"
    return _both(label, torch.cat([x, -127 * scales], 1), True)


def _of_many_bits():
    """A token of scale 3 with x near the middle of two codes, where fp16 rounds some x, others
    only after the division.
    """
    near = [code + 0.5 + 0.018 for code in range(43, 64)]
    nearer = [code + 0.5 + 0.025 for code in range(64, 85)]
    x = 3 * torch.tensor([[*near, *nearer, -127.0]])
    return _both(f"1 token, K = {x.shape[1]}, float32, x of many bits", x, True)


def _uneven_by_the_inverse(tokens=4):
    """Tokens whose x lie halfway between two codes, where x times 1 / scale does not in float64."""
    scales = torch.arange(3.0, 256.0, 2.0).view(-1, 1)
    x = (torch.arange(127) + 0.5) * scales
    right, wrong = torch.round(x / scales), torch.round(x.double() * (1 / scales.double()))
    rows = (wrong != right).sum(1).topk(tokens).indices
    x, scales = torch.where(wrong != right, x, scales)[rows], scales[rows]
    label = f"{tokens} tokens, K = 128, float32, x halfway between two codes"
    return _both(label, torch.cat([x, -127 * scales], 1), True)


def _near_ties(tokens=4):
    """Tokens whose x lie next to the middle of two codes, where x / largest * 127 lies in it."""
    scales = torch.arange(3.0, 256.0, 2.0).view(-1, 1)
    middles = (torch.arange(127) + 0.5) * scales
    x = torch.nextafter(middles, torch.tensor(torch.inf))
    right, wrong = torch.round(x / scales), torch.round(x / (127 * scales) * 127)
    in_float64 = torch.round(x.double() / scales.double())
    is_telling = (wrong != right) & (in_float64 == right)
    rows = is_telling.sum(1).topk(tokens).indices
    x, scales = torch.where(is_telling, x, scales)[rows], scales[rows]
    label = f"{tokens} tokens, K = 128, float32, x next to the middle of two codes"
    return _both(label, torch.cat([x, -127 * scales], 1), True)


def _everywhere():
    """x between two codes and tokens of zeros, in the later ones of many tokens and columns."""
    found = torch.cat([each[0].x for each in (_uneven(), _near_ties(), _uneven_by_the_inverse())])
    many = found.repeat(_MANY_TOKENS // len(found), 1)
    m = torch.arange(len(many))[:, None]
    many = torch.where(m % 7 == 3, 0, many * 2.0 ** (m % 5 - 2))
    several = torch.cat([found[::5], _of_many_bits()[0].x.repeat(1, 3)[:, : found.shape[1]]])
    wide = several.repeat(1, _MANY_COLUMNS // found.shape[1])
    return [
        case
        for x in (many, wide)
        for case in _both(f"{x.shape[0]} tokens, K = {x.shape[1]}, x between two codes", x, True)
    ]


def _rounded_scales(tokens=2):
    """Tokens whose scale float32 rounds, with x that lie almost in the middle of two codes.

    A scale that is not rounded gives other codes. In the last tokens the largest |x| times 1 / 127
    is another scale.
    """
    largest = 1 + torch.rand(4096, 1, generator=torch.Generator().manual_seed(0))
    scales = largest / 127
    x = (torch.arange(127) + 0.5) * scales
    right, wrong = torch.round(x / scales), torch.round(x.double() / (largest.double() / 127))
    in_float64 = torch.round(x.double() / scales.double())
    again = torch.round(x.double() * 127 / largest.double())
    is_telling = (wrong != right) & (wrong == again) & (in_float64 == right)
    is_other = scales != largest * (1 / 127)
    rows = [(is_telling & which).sum(1).topk(tokens).indices for which in (~is_other, is_other)]
    x, largest = torch.where(is_telling, x, 0)[torch.cat(rows)], largest[torch.cat(rows)]
    label = f"{len(x)} tokens, K = 128, float32, rounded scales"
    return _both(label, torch.cat([x, -largest], 1), True)


def _near_the_least():
    """A token whose scale is the least normal float32, beside one of plain numbers."""
    found = _exact(torch.float32, 200, (-126, 1), seed=16)
    return [replace(case, label=f"{case.label}, near the least normal float32") for case in found]


def _alike():
    """Tokens, then the same in another order, then with their x in another order.

    All have the same first and last token, and the same first and last x in each token.
    """
    case, _ = _exact(torch.float32, 24, (-2, 1, 3, -7, 0, 2), seed=14)
    rows, columns = middle_rolled(6), middle_rolled(24)
    orders = {"": case.x, ", tokens swapped": case.x[rows], ", x swapped": case.x[:, columns]}
    label = case.label.removeprefix("x_q of ")
    found = (_both(f"{label}{how}", x.contiguous(), True) for how, x in orders.items())
    return [case for both in found for case in both]


def _laid_otherwise():
    """Cases whose x, of each dtype, is a part or a transpose of another tensor."""
    of_dtypes = [_exact(dtype, 24, (-2, 1, 3), seed=15) for dtype in reversed(_DTYPES)]
    return laid_in_every_way(of_dtypes, "x")


def _real(x_dtype, tokens=8):
    """Tokens of a real layer; no x / scale is close to a tie."""
    x = real_layer("ffn_up").activations.to(x_dtype)
    steps = x.double() / (x.double().abs().amax(1, keepdim=True) / 127)
    clear = ((steps - steps.floor() - 0.5).abs() > _NEAR_A_TIE).all(1)
    label = f"{tokens} tokens of a real layer (ffn_up of MiniLM), {_name(x_dtype)}"
    return _both(label, x[clear][:tokens], False)


def _both(label, x, is_exact):
    return [Tokens(f"{part} of {label}", part, x, is_exact) for part in PARTS]


def _name(dtype):
    return str(dtype).removeprefix("torch.")


@cache
def cases():
    return [
        *_exact(torch.float16, 8, _EXPONENTS, seed=1),
        *_exact(torch.float32, 24, (-2, None, 3, -7, 0), seed=2),
        *_of_many_bits(),
        *_exact(torch.bfloat16, 17, (4, -40, -1, -20, 60), seed=3),
        *_exact(torch.float16, 40, (-22, -9, -16), seed=4),
        *_exact(torch.float32, 7, (-6,), seed=5),
        *_exact(torch.float32, 1, (3, -4, 0), seed=6),
        *_real(torch.bfloat16),
        *_real(torch.float16),
        *_exact(torch.float32, 1, (2,), seed=7),
        *_exact(torch.float16, 2, (1, None), seed=8),
        *_exact(torch.float32, 70001, (-1,), seed=126)[:1],  # its scale shows in the codes
        *_exact(torch.float16, 3, tuple(m % 9 - 4 for m in range(5003)), seed=10),
        *_exact(torch.float32, 5, (-37,), seed=11),
        *_near_the_least(),
        *_exact(torch.float32, 6, (121, -3), seed=12),  # 127 * 2**121: almost the largest float32
        *_exact(torch.bfloat16, 4, (None,), seed=13),
        *_both("3 tokens, K = 5, float32, all x alike", torch.full((3, 5), -31.75), True),
        *_uneven(),
        *_near_ties(),
        *_rounded_scales(),
        *_uneven_by_the_inverse(),
        *_everywhere(),
        *_alike(),
        *_laid_otherwise(),
    ]


def fresh(seed):
    """Cases with other tokens for each seed, of all usual sizes."""
    generator = torch.Generator().manual_seed(seed)
    M, K = torch.randint(1, 60, (2,), generator=generator).tolist()
    x_dtype = (torch.float32, torch.bfloat16)[seed % 2]
    exponents = torch.randint(-8, 8, (M,), generator=generator).tolist()
    found = _exact(torch.float16, 8, _EXPONENTS, seed) + _exact(x_dtype, K, exponents, seed)
    for N, K in usual_sizes(seed):
        x_dtype = _DTYPES[int(torch.randint(0, 3, (), generator=generator))]
        exponents = torch.randint(-8, 8, (N,), generator=generator).tolist()
        found += _exact(x_dtype, K, exponents, seed)[:1]
    alike, _ = _exact(torch.float32, 96, (seed % 9,) * 12, seed)
    found += with_exchanges(alike, "x", seed, alike.x.abs() < largest(alike.x))
    found += alike_inputs(alike, "x", alike.x.abs() < largest(alike.x))
    return [replace(case, label=f"{case.label}, seed {seed}") for case in found]


def largest(x):
    """The largest |x| of each token, (M, 1)."""
    return x.abs().amax(1, keepdim=True)
