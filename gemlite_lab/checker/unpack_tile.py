"""Exercise of triton_gemv: write unpack(words, field, NBITS), which the Triton kernels use."""

import re
from dataclasses import dataclass
from functools import cache, partial

import torch

from gemlite_edu.packing.plane_tiles import DEPTH, PlaneTiles, pack_with_high, unpack_with_high
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import CheckFailed, Exercise
from gemlite_lab.checker.triton_answers import product_of
from gemlite_lab.sandbox.sandbox import AnswerError
from gemlite_lab.sandbox.triton_products import dequantized

# (nbits, word_bits): N. K is ragged and exceeds one tile. Every width of code stands in words of
# every width that holds them: codes of 3 bits are planes of 2 bits, and of 1 bit in words half
# as wide.
_ROWS = {
    (4, 32): 33,
    (3, 32): 9,
    (3, 16): 9,
    (8, 32): 3,
    (4, 8): 5,
    (1, 32): 9,
    (2, 8): 9,
    (4, 16): 5,
    (8, 16): 3,
    (8, 8): 3,
}
_BY_TYPES, _TYPE = "IncompatibleTypeErrorImpl", re.compile(r"triton\.language\.(\w+)")
_ALONE = 3, 16  # not telling: who is wrong here alone would get the name of a mistake


@dataclass(frozen=True)
class _TileCase(cases.CodesCase):
    """Codes, and the words of the tiles that hold them. high: words of the third bits, or None."""

    word_bits: int
    words: torch.Tensor
    high: torch.Tensor | None

    @property
    def layout(self):
        """The `PlaneTiles` of the words."""
        return PlaneTiles(self.nbits, self.W_q.shape[1], None, self.word_bits)

    @property
    def is_telling(self):
        """True if an answer that was wrong before is known by its output here."""
        return (self.nbits, self.word_bits) != _ALONE


@cache
def _tile_cases():
    exact = [_exact_case(N, *widths) for widths, N in _ROWS.items()]
    telling = [_telling_words(*widths) for widths in _ROWS if widths != _ALONE]
    of_other_blocks = [_exact_case(N, *widths) for N in (1, 65) for widths in ((3, 16), (8, 32))]
    return [*exact, _tile_case(cases.real_codes(), 32), *telling, *of_other_blocks]


def _exact_case(N, nbits, word_bits):
    K = 32 * (32 // nbits) + DEPTH
    return _tile_case(cases.codes(nbits, N, K, seed=nbits), word_bits)


def _telling(layout, N):
    """Words of one tile, (1, N, DEPTH), that hold these numbers in turn."""
    bits, fields = layout.word_bits, layout.fields
    ones = 2**bits - 1
    one_code_throughout = [
        sum(code << field * layout.low_bits for field in range(fields))
        for code in range(2**layout.low_bits)
    ]
    lone = [1 << bit for bit in range(bits)]
    numbers = torch.tensor([*one_code_throughout, *lone, *(ones - one for one in lone)])
    order = torch.arange(N * DEPTH) % len(numbers)
    return numbers[order].to(layout.word_dtype).reshape(1, N, DEPTH)


def _telling_words(nbits, word_bits):
    """A tile of words of zeros, of ones, with one bit set or clear, and with one code throughout.

    So are the words of third bits.
    """
    layout = PlaneTiles(nbits, DEPTH * (word_bits // (2 if nbits == 3 else nbits)), None, word_bits)
    N = -(-(2**nbits + 2 * word_bits) // DEPTH)
    words = _telling(layout, N)
    high = None if layout.high is None else _telling(layout.high, N)
    W_q = unpack_with_high(words, high, layout)
    label = f"{nbits}-bit, N = {len(W_q)}, K = {layout.K}, telling words of {word_bits} bits"
    return _TileCase(label, nbits, W_q, word_bits, words, high)


def _tile_case(codes, word_bits):
    nbits, W_q = codes.nbits, codes.W_q
    words, high = pack_with_high(W_q, PlaneTiles(nbits, W_q.shape[1], None, word_bits))
    label = f"{codes.label}, words of {word_bits} bits"
    return _TileCase(label, nbits, W_q, word_bits, words, high)


def _fresh(seed):
    return _tile_case(cases.codes(4, 33, 272, seed), word_bits=32)


def _run(answer, case, device):
    N = len(case.W_q)
    try:
        return product_of(answer, dequantized, case.words, case.high, case.layout, N, device)
    except AnswerError as error:
        wrong_type = _TYPE.search(str(error)) if error.kind == _BY_TYPES else None
        if not wrong_type or error.line:
            raise
        raise CheckFailed(
            f"unpack_tile returned codes of type {wrong_type[1]}: codes may have any integer type "
            "that can hold them"
        ) from None


UNPACK_TILE = Exercise(
    name="unpack_tile",
    lesson="triton_gemv",
    output="codes",
    dtype=torch.float32,
    is_kernel=False,
    is_triton=True,
    compiled_cases=(3, 2, 4),
    hints=(
        "One expression on the whole tensor of words: bring the field to the low end, then cut off "
        "what lies above it.",
        "Field 0 is at the low end already, and each further one lies NBITS bits higher.",
        "The mask has NBITS ones. Write its brackets out: in Python - comes before <<, and << "
        "before &.",
    ),
    cases=_tile_cases,
    fresh=partial(cases.fresh, _fresh),
    expected=lambda case: (case.W_q.float(), None),
    run=_run,
)
