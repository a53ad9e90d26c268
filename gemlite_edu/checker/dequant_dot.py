"""Exercises of notebook 05: write dequant_dot, the hole of gemv_a16wn_fp32, for several formats."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gemlite_edu import reference
from gemlite_edu.checker import cases
from gemlite_edu.checker.exercise import Exercise
from gemlite_edu.formats import FP4_E2M1, NF4
from gemlite_edu.kernels import load
from gemlite_edu.packing import WarpInterleaved, pack_warped_int32

_KERNEL = "gemv_a16wn_fp32"
_HOLE = "dequant_dot"


@dataclass(frozen=True)
class Format:
    """How codes become values: decode(codes float64, zeros float64) -> float64.

    wrong_decodes: {mistake: a decode that makes it}. is_table: codes index a table, so that one
    out of range has no predictable value. sums_are_exact: every value is a multiple of 1/2.
    """

    name: str
    widths: tuple[int, ...]
    decode: Callable
    wrong_decodes: dict[str, Callable]
    has_zeros: bool = False
    is_table: bool = False
    sums_are_exact: bool = True


# ---- the right answer


def _cases(format):
    found = []
    for nbits in format.widths:
        K = 1000 if nbits <= 4 else 300  # ragged, several tiles, and sums that fp16 holds
        shapes = ((33, K), (40, K // 2), (2, 7))
        found += [
            cases.exact_gemv(nbits, *shape, seed, format.has_zeros)
            for seed, shape in enumerate(shapes)
        ]
    return [*found, _real_case(format)]


def _real_case(format):
    nbits = format.widths[0]
    if format.has_zeros:
        return cases.real_gemv(nbits)
    codes = torch.arange(2**nbits, dtype=torch.float64)
    return cases.real_gemv_in_table(nbits, format.decode(codes, torch.zeros(())))


def _expected(format, case):
    W = format.decode(case.W_q.double(), case.zeros.double()) * case.scales.double()
    right = reference.matmul(case.x, W)
    if case.is_exact and format.sums_are_exact:
        return right.half(), None
    return right, reference.error_bound(case.x, W, torch.float16)


def _run(answer, case, device):
    kernel = load(_KERNEL, case.nbits, replace={_HOLE: answer}, device=device, time_limit=10.0)
    W_packed = pack_warped_int32(case.W_q, case.nbits).to(device)
    out = torch.full((len(case.x), len(case.W_q)), torch.nan, dtype=torch.float16, device=device)
    x, scales, zeros = (t.to(device) for t in (case.x, case.scales, case.zeros))
    return kernel(x, W_packed, scales, zeros, out=out).cpu()


# ---- wrong answers, on the same codes seen as (N, tiles, fields, lanes)


@dataclass(frozen=True)
class _Tiles:
    case: cases.GemvCase
    codes: torch.Tensor  # (N, T, P, 32)
    words: torch.Tensor  # (N, T, 1, 32), unsigned
    x: torch.Tensor  # (M, T, P, 32)
    zeros: torch.Tensor  # (N, 1, 1, 1)

    @classmethod
    def of(cls, case):
        layout = WarpInterleaved(case.nbits)
        (N, K), M = case.W_q.shape, len(case.x)
        pad = (0, layout.padded_K(K) - K)
        shape = (-1, layout.pack_factor, 32)
        words = pack_warped_int32(case.W_q, case.nbits).long() & 0xFFFFFFFF
        return cls(
            case,
            torch.nn.functional.pad(case.W_q.double(), pad).reshape(N, *shape),
            words.reshape(N, -1, 1, 32),
            torch.nn.functional.pad(case.x.double(), pad).reshape(M, *shape),
            case.zeros.double().reshape(N, 1, 1, 1),
        )

    def output(self, values, x=None):
        """y (M, N) float16 of dequantized values and x, both (…, T, P, 32)."""
        x = self.x if x is None else x
        y = torch.einsum("ntpl,mtpl->mn", values.double(), x)
        return (y * self.case.scales.double().T).half()

    def read(self, mask, nbits=None):
        """Fields of the words read with another mask or width."""
        nbits = nbits or self.case.nbits
        shifts = torch.tensor([32 - nbits * (j + 1) for j in range(32 // nbits)]).view(-1, 1)
        return ((self.words >> shifts) & mask).double()

    def x_at(self, distance):
        """x as met when field j reads x[j * distance] instead of x[j * 32]."""
        M, tiles, fields, _ = self.x.shape
        lane, field = torch.arange(32), torch.arange(fields).view(-1, 1)
        return self.x.reshape(M, tiles, -1)[:, :, lane + field * distance]


def _with_codes(format, change):
    """The mistake of decoding `change(tiles)` instead of the codes."""

    def output(case):
        tiles = _Tiles.of(case)
        codes = change(tiles)
        return None if codes is None else tiles.output(format.decode(codes, tiles.zeros))

    return output


def _with_decode(decode):
    def output(case):
        tiles = _Tiles.of(case)
        return tiles.output(decode(tiles.codes, tiles.zeros))

    return output


def _with_x(format, distance):
    def output(case):
        tiles = _Tiles.of(case)
        return tiles.output(format.decode(tiles.codes, tiles.zeros), tiles.x_at(distance))

    return output


def _with_fields(format, keep):
    def output(case):
        tiles = _Tiles.of(case)
        values = format.decode(tiles.codes, tiles.zeros)[:, :, keep]
        return tiles.output(values, tiles.x[:, :, keep])

    return output


def _swapped(tiles):
    fields = tiles.codes.shape[2]
    return None if fields % 2 else tiles.codes[:, :, [j ^ 1 for j in range(fields)]]


def _awq_order(tiles):
    if tiles.codes.shape[2] != 8:
        return None
    return tiles.codes[:, :, [0, 2, 4, 6, 1, 3, 5, 7]]


def _zero_once_per_word(case):
    tiles = _Tiles.of(case)
    y = tiles.x.flatten(1) @ tiles.codes.flatten(1).T
    words = tiles.words[0].numel()
    return ((y - words * case.zeros.double().T) * case.scales.double().T).half()


def _half_accumulator(format):
    """A half that is rounded after each product of a word; fp32 across words and lanes."""

    def output(case):
        tiles = _Tiles.of(case)
        values = format.decode(tiles.codes, tiles.zeros)
        M, (N, T, P, _) = len(tiles.x), values.shape
        sums = torch.zeros(M, N, T, 32).half()
        for j in range(P):
            products = (values[:, :, j] * tiles.x[:, None, :, j]).float()
            sums = (sums.float() + products).half()
        return (sums.double().sum((2, 3)) * case.scales.double().T).half()

    return output


def _four_bit_fields(format):
    def output(case):
        if case.nbits == 4:
            return None
        tiles = _Tiles.of(case)
        codes = tiles.read(0xF, nbits=4)
        fields = min(8, tiles.x.shape[2])
        values = format.decode(codes[:, :, :fields], tiles.zeros)
        return tiles.output(values, tiles.x[:, :, :fields])

    return output


def _mistakes(format):
    """{mistake: case -> output}, those left out that no width of the format can show."""
    mistakes = {
        "the codes of a word are taken from the least significant bits up": _with_codes(
            format, lambda t: t.codes.flip(2)
        ),
        "the two codes of each pair of fields are swapped": _with_codes(format, _swapped),
        "every code of a word meets x[0]: code j meets x[j * WARP_SIZE]": _with_x(format, 0),
        "code j meets x[j], but the codes of a word lie WARP_SIZE apart": _with_x(format, 1),
        "only the first code of each word is used": _with_fields(format, slice(0, 1)),
        "the last code of each word is skipped": _with_fields(format, slice(0, -1)),
        "the first code of each word is skipped": _with_fields(format, slice(1, None)),
        "only the first half of the codes of each word is used": _half_of_the_fields(format),
        "the sum is held in half precision": _half_accumulator(format),
    }
    if 4 in format.widths:
        mistakes["the codes are taken in AWQ's order 0 2 4 6 1 3 5 7"] = _with_codes(
            format, _awq_order
        )
    if format.widths != (4,):
        mistakes["the word is read as eight 4-bit codes, whatever W_NBITS is"] = _four_bit_fields(
            format
        )
    if not format.is_table:
        mistakes["the shifted word is not masked, so that the codes above it stay in"] = (
            _with_codes(format, lambda t: t.read(0xFFFFFFFF))
        )
    if any(nbits**2 != 2**nbits for nbits in format.widths):
        mistakes["the mask is W_NBITS * W_NBITS - 1; it is 2 to the power W_NBITS, minus 1"] = (
            _with_codes(format, lambda t: t.read(t.case.nbits**2 - 1))
        )
    if format.has_zeros:
        mistakes |= _ZERO_POINT_MISTAKES
    return mistakes | {name: _with_decode(decode) for name, decode in format.wrong_decodes.items()}


def _half_of_the_fields(format):
    def output(case):
        fields = 32 // case.nbits // 2
        return _with_fields(format, slice(0, fields))(case)

    return output


def _with_values(values_of):
    def output(case):
        tiles = _Tiles.of(case)
        return tiles.output(values_of(tiles))

    return output


def _top_bit(tiles):
    return 2 ** (tiles.case.nbits - 1)


_ZERO_POINT_MISTAKES = {
    "the zero-point is forgotten": _with_decode(lambda q, z: q),
    "the zero-point is added instead of subtracted": _with_decode(lambda q, z: q + z),
    "the code is subtracted from the zero-point": _with_decode(lambda q, z: z - q),
    "the zero-point is one too large": _with_decode(lambda q, z: q - z - 1),
    "the zero-point is one too small": _with_decode(lambda q, z: q - z + 1),
    "the zero-point is taken to be the middle code": _with_values(lambda t: t.codes - _top_bit(t)),
    "the zero-point is subtracted once per word instead of once per code": _zero_once_per_word,
    "the codes are sign-extended; they are unsigned": _with_values(
        lambda t: t.codes - 2 * _top_bit(t) * (t.codes >= _top_bit(t)) - t.zeros
    ),
}


# ---- the formats


def _lookup(table):
    values = torch.tensor(table, dtype=torch.float64)
    return lambda codes, zeros: values[codes.long()]


def _signed(codes, zeros):
    return codes - 16 * (codes >= 8)


_ANY_WIDTH = Format(_HOLE, (4, 2, 3, 8), lambda q, z: q - z, {}, has_zeros=True)
_FOUR_BITS = Format("dequant_dot_4bit", (4,), lambda q, z: q - z, {}, has_zeros=True)
_TWO_BITS = Format("dequant_dot_2bit", (2,), lambda q, z: q - z, {}, has_zeros=True)
_SIGNED = Format(
    "dequant_dot_signed",
    (4,),
    _signed,
    {
        "the codes are taken as unsigned, 0 to 15": lambda q, z: q,
        "8 is subtracted from the codes, but two's complement has -8 at code 8": lambda q, z: q - 8,
        "the top bit is taken as a sign beside a 3-bit magnitude": (
            lambda q, z: torch.where(q >= 8, 8 - q, q)
        ),
    },
)
_NF4 = Format(
    "dequant_dot_nf4",
    (4,),
    _lookup(NF4),
    {
        "the codes themselves are used, not the values of the table": lambda q, z: q,
        "the table is read backwards": _lookup(NF4[::-1]),
        "the codes are taken as evenly spaced from -1 to 1": lambda q, z: q * 2 / 15 - 1,
        "8 is subtracted from the codes": lambda q, z: q - 8,
    },
    is_table=True,
    sums_are_exact=False,
)
_FP4 = Format(
    "dequant_dot_fp4",
    (4,),
    _lookup(FP4_E2M1),
    {
        "the codes themselves are used, not the numbers they stand for": lambda q, z: q,
        "the sign bit is ignored": lambda q, z: _lookup(FP4_E2M1)(q % 8, z),
        "the sign is the lowest bit instead of the highest": (
            lambda q, z: _lookup(FP4_E2M1)(q // 2, z) * (1 - 2 * (q % 2))
        ),
        "the exponent is one too large: its bias is 1": (lambda q, z: _lookup(FP4_E2M1)(q, z) * 2),
        "exponent 0 has no hidden one: codes 0 and 1 are 0 and 0.5": (
            lambda q, z: torch.where(
                q % 8 < 2, (0.5 + 0.25 * (q % 2)) * (1 - 2 * (q >= 8)), _lookup(FP4_E2M1)(q, z)
            )
        ),
        "the codes are taken as two's complement": _signed,
    },
    is_table=True,
)

_READING = "Write the four bits of a code as a number first, on paper, for codes 1, 9 and 15."
_HINTS = {
    _HOLE: (
        "Take one code out of the word first: which shift brings code 0 to the lowest bits?",
        "Each code is shifted right, masked, has `zero` subtracted, and meets one x.",
        "Code j is shifted by 32 - W_NBITS * (j + 1); its x is x[j * WARP_SIZE].",
    ),
    "dequant_dot_nf4": (
        "The loop and the shifts stay; only what a code stands for changes.",
        "A code is now an index from 0 to 15 into a table of 16 floats.",
        "A `const float table[16] = {...}` may stand inside the function; `zero` is not used.",
    ),
    "dequant_dot_fp4": (
        _READING,
        "Eight magnitudes repeat with a sign: you need a table of eight and one bit.",
        "0, 0.5, 1, 1.5, 2, 3, 4, 6 are the magnitudes; bit 3 of the code is the sign.",
    ),
    "dequant_dot_signed": (
        _READING,
        "Two's complement in 4 bits: codes 8 to 15 stand for -8 to -1.",
        "Shift the code to the top of a signed 32-bit integer and back: >> keeps its sign.",
    ),
}


def _exercise(format):
    return Exercise(
        name=format.name,
        notebook="05_fused_dequant",
        output="y",
        dtype=torch.float16,
        is_kernel=True,
        hints=_HINTS.get(format.name, _HINTS[_HOLE]),
        cases=lambda: _cases(format),
        expected=lambda case: _expected(format, case),
        run=_run,
        mistakes=_mistakes(format),
    )


DEQUANT_DOT_EXERCISES = tuple(
    _exercise(format) for format in (_ANY_WIDTH, _FOUR_BITS, _TWO_BITS, _SIGNED, _NF4, _FP4)
)
