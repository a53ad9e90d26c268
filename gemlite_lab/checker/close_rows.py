"""Rows of weights for best_scale in which little decides: what a rounded number hides.

In each case all right ways to compute an error agree on the index, whatever their order of sums:
codes from a quotient of float64, from a product with its reciprocal, and from the nearest mark.
"""

from dataclasses import dataclass, replace
from functools import cache

import torch

_DRAWN = 20_000  # rows, of which few are telling
_LEAST_UNIT = -142  # the exponent of two of a unit whose sixteenth float32 has
_UNITS = torch.tensor([-100.0, -60, -40, -21, -14, 0, 25, 60, 116])  # exponents of two
_AT_LEAST = 2.0**-50  # of the sum of squares, by which telling errors differ
_PART = 1e-3  # of the least error, by which those of one weight differ at least


@dataclass(frozen=True)
class Rows:
    """W (rows, K) and, for each row, its own candidates (rows, C)."""

    what: str
    nbits: int
    W: torch.Tensor
    candidates: torch.Tensor

    @property
    def label(self):
        rows, K = self.W.shape
        return f"{rows} {self.what}, {self.nbits}-bit, K = {K}"


def errors(W, nbits, candidates, codes_of=lambda w, s: (w.double() / s).round()):
    """(rows, C): the sum of squared errors of each row with each of its candidates, in float64."""
    codes = clamped(codes_of(W[:, None], candidates[:, :, None]), nbits)
    return (W.double()[:, None] - codes * candidates.double()[:, :, None]).square().sum(2)


def clamped(codes, nbits):
    """Codes of the nearest integers, as float64."""
    return codes.double().clamp(-(2 ** (nbits - 1)), 2 ** (nbits - 1) - 1)


def _nearly_equal(what, K, unit, offsets, decisive, rows):
    """8-bit rows in which two candidates differ in one weight alone, and there by little.

    All other weights lie `offsets` beside marks of both rulers, whose steps are 2 and 3 halves of a
    `unit`: there both have the same error. A third candidate, the first one, is far worse.
    """
    generator = torch.Generator().manual_seed(0)
    marks = torch.randint(-40, 41, (rows, K), generator=generator) * 3 * unit
    steps = torch.randint(-offsets, offsets + 1, (rows, K), generator=generator)
    W = marks + steps * (unit / 1024)
    W[:, K // 3] = decisive[0]
    W[::3, K // 3] = decisive[1]
    candidates = torch.tensor([7.0, 1.0, 1.5]).repeat(rows, 1) * unit
    candidates[1::2, 1:] = candidates[1::2, 1:].flip(1)
    return Rows(what, 8, W, candidates)


def fine_rows():
    """Rows whose weights fp16 rounds to such that both candidates are equally good."""
    little = 2.0**-8
    return _nearly_equal("fine rows", 64, 1, 400, (100.25 - little, 100.25 + little), 9)


def finer_rows():
    """Rows whose two errors differ by less than a millionth, which float32 still tells apart."""
    little = 2.0**-17
    return _nearly_equal("finer rows", 512, 1, 400, (100.25 - little, 100.25 + little), 7)


def long_rows(exponent, rows):
    """Rows whose sums float32 rounds to equal ones; they differ by 2.0**(10 + exponent)."""
    little = 2.0**exponent
    what = f"long rows that differ by 2^{exponent}"
    return _nearly_equal(what, 20_000, 1024, 450, (1280 - little, 1280 + little), rows)


def late_weights(*places):
    """Long rows, each with one weight that decides, at one of the places, and zeros."""
    W = torch.zeros(len(places), 20_000)
    W[torch.arange(len(places)), torch.tensor(places)] = 3.0
    candidates = torch.tensor([2.0, 1.0, 2.5]).repeat(len(W), 1)
    candidates[::2, 1:] = candidates[::2, 1:].flip(1)
    return Rows("long rows of one weight", 4, W, candidates)


def rows_of_one_winner(K=3000):
    """Rows in which one weight decides, and the errors differ by a part in 2^46.

    Both candidates make 0 of all other weights, and so the same errors. The last one lies next to
    marks of both. All squares are multiples of 2^-42, so that their sums are exact in any order.
    """
    generator = torch.Generator().manual_seed(3)
    little = 2.0**-20
    W = torch.randint(-480, 481, (6, K), generator=generator) / 1024
    W[:, K // 3] = 3 + little
    candidates = torch.tensor([7.0, 1.0, 1.5 + 1.5 * little]).repeat(len(W), 1)
    candidates[1::2, 1:] = candidates[1::2, 1:].flip(1)
    W[2::3, K // 3] += little
    return Rows("rows that one weight decides by little", 8, W, candidates)


def huge_weights():
    """Rows of one weight whose code, before it is clamped, neither int16 nor int32 can hold."""
    W = torch.tensor([2.0**17, 2.0**33, 2.0**40, -(2.0**19), 2.0**36, -(2.0**34)]).view(-1, 1)
    candidates = torch.tensor([1.0, 2.0, 3.0, 2.5]).repeat(len(W), 1)
    candidates[::2] = candidates[::2].flip(1)
    return Rows("rows of a huge weight", 8, W, candidates)


def in_units(case):
    """The case with rows in other units, from very small ones to very large ones."""
    units = (2.0 ** _UNITS[torch.arange(len(case.W)) % len(_UNITS)])[:, None]
    return Rows(f"{case.what} in units of their own", case.nbits, case.W * units,
                case.candidates * units)  # fmt: skip


def at_the_ends(case):
    """The case with rows in units of their own, next to the least and to the largest float32."""
    most = 2.0 ** (126 - case.W.abs().amax(1, keepdim=True).clamp(min=1).log2().floor())
    units = torch.where(torch.arange(len(case.W))[:, None] % 2 == 0, 2.0**_LEAST_UNIT, most)
    return Rows(f"{case.what} near the ends of float32", case.nbits, case.W * units,
                case.candidates * units)  # fmt: skip


def repeated_neighbours(case):
    """The case with each of the first candidates twice, one behind the other."""
    candidates = case.candidates.repeat_interleave(2, 1)[:, : case.candidates.shape[1] + 2]
    return replace(case, what=f"{case.what}, candidates repeated", candidates=candidates)


def many_candidates(count, *best):
    """A row for each place `best` of the best one among `count` candidates."""
    scales = 1 + (1 + torch.arange(count) % 97) / 128
    candidates = scales.repeat(len(best), 1)
    candidates[torch.arange(len(best)), torch.tensor(best)] = 1.0
    W = torch.tensor([[-7.0, 3.0, 1.0, 0.0, 2.0, -4.0]]).repeat(len(best), 1)
    return Rows(f"rows with {count} candidates", 4, W, candidates)


@cache
def rounded_products(rows=8):
    """Rows of one weight that is a mark in float32, and lies next to one of each scale."""
    generator = torch.Generator().manual_seed(0)
    W = 1 + torch.rand(_DRAWN, 1, generator=generator)
    codes = torch.randint(3, 127, (_DRAWN, 2), generator=generator)
    return _telling("rows beside marks", W, W / codes, rows, [_product_rounded])


@cache
def nearly_on_marks(rows=8):
    """Rows of one weight so near to a mark of each scale that only differences tell them apart."""
    generator = torch.Generator().manual_seed(4)
    W = 1 + torch.rand(_DRAWN, 1, generator=generator)
    codes = torch.randint(3, 127, (_DRAWN, 2), generator=generator)
    return _telling("rows on marks", W, W / codes, rows, [_multiplied_out], _by_a_part)


@cache
def rounded_differences(rows=6):
    """Rows of one clipped weight, as far from the last marks of both scales as float32 can tell."""
    generator = torch.Generator().manual_seed(1)
    W = 1000 + 24 * torch.rand(_DRAWN, 1, generator=generator)
    scale = 1 + torch.rand(_DRAWN, 1, generator=generator)
    candidates = torch.cat([scale, scale.nextafter(2 * scale)], 1)
    return _telling("rows of a clipped weight", W, candidates, rows, [_difference_rounded])


@cache
def near_middles(rows=28):
    """Rows of one weight that lies next to the middle of two marks of the first scale.

    With the other code the first scale would be worse than the second one.
    """
    generator = torch.Generator().manual_seed(2)
    scales = 1 + torch.rand(_DRAWN, 1, generator=generator)
    codes = torch.randint(3, 100, (_DRAWN, 1), generator=generator)
    how_near = 2.0 ** -torch.randint(8, 23, (_DRAWN, 1), generator=generator)
    W = (codes + 0.5 - how_near * (torch.arange(_DRAWN)[:, None] % 2 * 2 - 1)) * scales
    candidates = torch.cat([scales, W - scales / 2], 1)
    wrong = [_codes_by(how) for how in _WRONG_CODES]
    return _telling("rows next to middles", W, candidates, rows, wrong)


def _by_a_part(W, best):
    return best[:, 1] > (1 + _PART) * best[:, 0]


def _by_much(W, best):
    return best[:, 1] - best[:, 0] > _AT_LEAST * W.double().square().sum(1)


def _telling(what, W, candidates, count, wrong_ways, differ=_by_much):
    """So many rows of one weight, for each wrong way as many that show it.

    Rows on which right ways to compute an error disagree are left out, and those whose two least
    errors do not `differ`. There is a third candidate, far worse than both, before or behind them.
    """
    candidates[::2] = candidates[::2].flip(1)
    candidates = torch.cat([100 * W, candidates], 1)
    right = errors(W, 8, candidates)
    index, best = right.argmin(1), right.sort(1).values
    is_clear = differ(W, best)
    for way in (_by_reciprocal_of_float64, _by_half_added):
        is_clear &= errors(W, 8, candidates, way).argmin(1) == index
    kept = []
    for way in wrong_ways:
        is_told = is_clear & (way(W, 8, candidates).argmin(1) != index)
        kept.append(is_told.nonzero().flatten()[: count // len(wrong_ways)])
    at = torch.cat(kept)
    candidates = candidates[at]
    candidates[::2] = candidates[::2].roll(-1, 1)
    return Rows(what, 8, W[at], candidates)


def _in_float32(w, scale):
    return (w / scale).round()


def _by_reciprocal_of_float64(w, scale):
    return (w.double() * (1 / scale.double())).round()


def _by_half_added(w, scale):
    return (w.double() / scale + 0.5).floor()


def _by_reciprocal(w, scale):
    return (w * (1 / scale)).round()


def _in_half(w, scale):
    return (w / scale).half().round()


def _in_bfloat16(w, scale):
    return (w / scale).bfloat16().round()


def _with_epsilon(w, scale):
    return (w / (scale + 1e-6)).round()


def _too_high(w, scale):
    return (w.double() / scale + 1e-6).round()


def _too_low(w, scale):
    return (w.double() / scale - 1e-6).round()


_WRONG_CODES = (
    *(_in_float32, _by_reciprocal, _in_half, _in_bfloat16),
    *(_with_epsilon, _too_high, _too_low),
)


def _codes_by(how):
    return lambda W, nbits, candidates: errors(W, nbits, candidates, how)


def _marks(W, nbits, candidates):
    codes = clamped((W[:, None] / candidates[:, :, None]).round(), nbits)
    return codes * candidates.double()[:, :, None]


def _product_rounded(W, nbits, candidates):
    return (W.double()[:, None] - _marks(W, nbits, candidates).float()).square().sum(2)


def _difference_rounded(W, nbits, candidates):
    off = W.double()[:, None] - _marks(W, nbits, candidates)
    return off.float().double().square().sum(2)


def _multiplied_out(W, nbits, candidates):
    marks = _marks(W, nbits, candidates)
    return (W.double().square()[:, None] - 2 * W.double()[:, None] * marks + marks.square()).sum(2)
