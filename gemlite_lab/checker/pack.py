"""Exercise of notebook 02: write pack(W_q, nbits)."""

from functools import cache, partial

import torch

from gemlite_edu.packing import pack_warped_int32
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import Exercise

_SHAPES = (  # nbits, N, K
    *((4, 3, 1000), (4, 2, 256), (4, 1, 33), (2, 2, 1100), (8, 5, 300)),
    *((3, 2, 650), (1, 2, 2100), (5, 2, 500), (6, 2, 350), (7, 2, 300)),
)


@cache
def codes_cases():
    """Codes of every width, ragged and over several tiles, and the codes of a real layer."""
    found = [cases.codes(nbits, N, K, seed) for seed, (nbits, N, K) in enumerate(_SHAPES)]
    return [*found, cases.real_codes()]


PACK = Exercise(
    name="pack",
    notebook="02_bitpacking",
    output="W_packed",
    dtype=torch.int32,
    is_kernel=False,
    hints=(
        "Draw one tile first: which k lie in word 0, from the most significant field down?",
        "Pad K to whole tiles, reshape to (N, tiles, pack_factor, 32): "
        "index 2 is the field, index 3 the lane.",
        "Field j goes left by 32 - nbits * (j + 1). Shift int32, not uint8, and combine with |.",
    ),
    cases=codes_cases,
    fresh=lambda seed: cases.fresh(partial(cases.codes, *_SHAPES[0]), seed),
    expected=lambda case: (pack_warped_int32(case.W_q, case.nbits), None),
    run=lambda answer, case, device: answer(case.W_q, case.nbits),
)
