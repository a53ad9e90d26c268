"""Exercise of notebook 10: write unpack(words, field, NBITS), which the Triton kernels use."""

from dataclasses import dataclass
from functools import cache, partial

import torch

from gemlite_edu.packing.plane_tiles import DEPTH, PlaneTiles, pack_with_high
from gemlite_edu.runners.triton import launch, replaced
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import Exercise

_BLOCK_N = 32
_SHAPES = {  # (nbits, word_bits): (N, K); K is ragged and exceeds one tile of 32-bit words
    (4, 32): (33, 272),
    (2, 16): (9, 528),
    (1, 8): (9, 1040),
    (8, 32): (3, 144),
    (4, 8): (5, 272),
    (3, 32): (9, 400),
}


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


def _fresh(seed):
    return _tile_case(cases.codes(4, 33, 272, seed), word_bits=32)


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


UNPACK_TILE = Exercise(
    name="unpack_tile",
    notebook="10_triton_gemv",
    output="codes",
    dtype=torch.float32,
    is_kernel=False,
    is_triton=True,
    compiled_cases=(3, 1, 4),
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
