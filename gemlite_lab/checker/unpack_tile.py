"""Exercise of notebook 10: write unpack(words, field, NBITS), of the Triton kernels."""

from dataclasses import dataclass
from functools import cache

import torch

from gemlite_edu.packing.plane_tiles import DEPTH, PlaneTiles, pack_with_high
from gemlite_edu.runners.triton import launch, replaced
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import Exercise

_BLOCK_N = 32
_SHAPES = {  # (nbits, word_bits): (N, K), K more than one tile of words of 32 bits, and ragged
    (4, 32): (33, 272),
    (2, 16): (9, 528),
    (1, 8): (9, 1040),
    (8, 32): (3, 144),
    (4, 8): (5, 272),
    (3, 32): (9, 400),
}


@dataclass(frozen=True)
class _TileCase(cases.CodesCase):
    """Codes, and the words of tiles that hold them; high: words of the third bits, or None."""

    word_bits: int
    words: torch.Tensor
    high: torch.Tensor | None

    @property
    def layout(self):
        """The `PlaneTiles` of the words."""
        return PlaneTiles(self.nbits, self.W_q.shape[1], None, self.word_bits)


@cache
def _tile_cases():
    exact = [
        _tile_case(cases.codes(nbits, *shape, seed=nbits), word_bits)
        for (nbits, word_bits), shape in _SHAPES.items()
    ]
    return [*exact, _tile_case(cases.real_codes(), 32)]


def _tile_case(codes, word_bits):
    nbits, W_q = codes.nbits, codes.W_q
    words, high = pack_with_high(W_q, PlaneTiles(nbits, W_q.shape[1], None, word_bits))
    label = f"{codes.label}, words of {word_bits} bits"
    return _TileCase(label, nbits, W_q, word_bits, words, high)


def _run(answer, case, device):
    layout, (N, K) = case.layout, case.W_q.shape
    is_interpreted = device == "cpu"
    block = 512 if is_interpreted else _BLOCK_N
    dense = torch.full((N, layout.padded_K), torch.nan, device=device)
    launch(
        replaced("dequantize_weights", is_interpreted, {"unpack": answer}), is_interpreted,
        (-(-N // block) * (layout.padded_K // layout.tile),),
        case.words.to(device), None if case.high is None else case.high.to(device),
        None, None, None, dense, N, layout.padded_K, watched=is_interpreted,
        NBITS=layout.nbits, FIELDS=layout.fields, DEPTH=DEPTH, GROUP=None, FMA=False, BLOCK_N=block,
    )  # fmt: skip
    return dense[:, :K].cpu()


class _Field:
    """What an answer is given for one plane: words as int64, and numbers."""

    def __init__(self, words, bits, field, nbits):
        self.words, self.bits, self.field, self.nbits = words, bits, field, nbits
        self.shift, self.mask = nbits * field, 2**nbits - 1

    def at(self, shift, mask=None):
        """The words shifted right, as far as they have bits, and masked."""
        return self.words >> min(shift, 63) & (self.mask if mask is None else mask)

    @property
    def code(self):
        """What is right."""
        return self.at(self.shift)


def _reading(read):
    """The output of an answer that gives read(_Field) for each plane."""

    def output(case):
        layout, (N, K) = case.layout, case.W_q.shape
        planes = _planes(read, case.words, case.word_bits, layout.low_bits, layout.fields)
        if case.high is not None:
            third = _planes(read, case.high, case.word_bits // 2, 1, layout.fields)
            planes = (planes | third << 2) % 2**case.word_bits
        return planes.transpose(0, 1).reshape(N, -1)[:, :K].float()

    return output


def _planes(read, words, bits, nbits, fields):
    """(tiles, N, fields, DEPTH) int64."""
    words = words.view({8: torch.uint8, 16: torch.int16, 32: torch.int32}[bits]).long() % 2**bits
    return torch.stack([read(_Field(words, bits, f, nbits)) for f in range(fields)], dim=2)


def _sign_extended(f):
    return f.code - (f.code >> f.nbits - 1 << f.nbits)


_AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # field j of an AWQ word holds the code of this column

UNPACK_TILE = Exercise(
    name="unpack_tile",
    notebook="10_triton_gemv",
    output="codes",
    dtype=torch.float32,
    is_kernel=False,
    is_triton=True,
    hints=(
        "One expression on the whole tensor of words: bring the field to the low end, then cut off "
        "what lies above it.",
        "Field 0 is at the low end already, and each further one lies NBITS bits higher.",
        "The mask has NBITS ones. Write its brackets out: in Python - comes before <<, and << "
        "before &.",
    ),
    cases=_tile_cases,
    expected=lambda case: (case.W_q.float(), None),
    run=_run,
    mistakes={
        "the fields are counted from the top; field 0 is at the low end": _reading(
            lambda f: f.at(f.bits - f.nbits * (f.field + 1))
        ),
        "the shift is field; a field is NBITS wide, so it is NBITS * field": _reading(
            lambda f: f.at(f.field)
        ),
        "the shift is 4 * field, whatever NBITS is": _reading(lambda f: f.at(4 * f.field)),
        "the shift is NBITS * (field + 1), one field too far": _reading(
            lambda f: f.at(f.nbits * (f.field + 1))
        ),
        "every field is read as field 0, because nothing is shifted": _reading(lambda f: f.at(0)),
        "the mask is NBITS**2 - 1; it is 2**NBITS - 1": _reading(
            lambda f: f.at(f.shift, f.nbits**2 - 1)
        ),
        "the mask is 1 << (NBITS - 1), the top bit alone, because - comes before <<": _reading(
            lambda f: f.at(f.shift, 1 << f.nbits - 1)
        ),
        "the mask is 2**NBITS, one bit above the code; it is 2**NBITS - 1": _reading(
            lambda f: f.at(f.shift, 1 << f.nbits)
        ),
        "the mask is NBITS; it is NBITS ones": _reading(lambda f: f.at(f.shift, f.nbits)),
        "the mask is 15, whatever NBITS is": _reading(lambda f: f.at(f.shift, 15)),
        "the shifted words are not masked, so that the fields above stay in": _reading(
            lambda f: f.words >> f.shift
        ),
        "the mask is applied before the shift, where it keeps field 0 alone": _reading(
            lambda f: (f.words & f.mask) >> f.shift
        ),
        "the field is masked where it stands, and not shifted down": _reading(
            lambda f: f.words & f.mask << f.shift
        ),
        "the codes are sign-extended: >> of an int32 keeps the sign": _reading(_sign_extended),
        "the words are cut to 8 bits first, and the fields above are gone": _reading(
            lambda f: (f.words & 0xFF) >> f.shift & f.mask
        ),
        "the middle code is subtracted; zero-points come later, they are not yours": _reading(
            lambda f: f.code - 2 ** (f.nbits - 1)
        ),
        "the codes of a word are taken to be in AWQ's order; here they are in that of k": _reading(
            lambda f: f.at(f.nbits * _AWQ_ORDER[f.field]) if f.bits // f.nbits == 8 else f.code
        ),
    },
)
