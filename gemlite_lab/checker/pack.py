"""Exercise of bitpacking: write pack(W_q, nbits)."""

from functools import cache, partial

import torch

from gemlite_edu.packing import pack_warped_int32
from gemlite_lab.checker import cases
from gemlite_lab.checker.exchanged import with_exchanges
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.laid_otherwise import (
    ALL_CONTIGUOUS,
    as_later_rows,
    as_parts,
    as_transposes,
)
from gemlite_lab.checker.usual_sizes import usual_sizes

_SHAPES = (  # nbits, N, K
    *((4, 3, 1000), (4, 2, 256), (4, 1, 33), (2, 2, 1100), (8, 5, 300)),
    *((3, 2, 650), (1, 2, 2100), (5, 2, 500), (6, 2, 350), (7, 2, 300)),
)
_SMALLEST = ((4, 1, 1), (8, 1, 2), (3, 2, 31), (5, 1, 32), (2, 1, 33), (6, 3, 255), (7, 7, 257))
_TILES = {nbits: 32 * (32 // nbits) for nbits in range(1, 9)}
_ONE_BEYOND = tuple((nbits, 1, 4096 // tile * tile + 1) for nbits, tile in _TILES.items())
_LARGE = ((4, 1, 70001), *_ONE_BEYOND, (8, 5003, 1), (8, 1, 9001), (2, 129, 3))
_MANY_ROWS, _FEWEST_BITS_OF_MANY_ROWS = 2000, 4  # since each row has a tile: 1024 codes of 1 bit
_LONGEST_FRESH, _MOST_FRESH_ROWS = 3000, 9


@cache
def codes_cases():
    """Codes of every width, ragged and over several tiles, and the codes of a real layer."""
    found = [cases.codes(nbits, N, K, seed) for seed, (nbits, N, K) in enumerate(_SHAPES)]
    sizes = [cases.codes(*shape, seed) for seed, shape in enumerate((*_SMALLEST, *_LARGE))]
    telling = [_telling_words(nbits) for nbits in range(1, 9)]
    return [*found, cases.real_codes(), *sizes, *_equal_codes(), *telling]


def _laid_otherwise():
    """Cases whose W_q is a part or a transpose of another tensor.

    In the first ones K is no whole number of tiles: what pads it lays it anew. In the others it is,
    because an answer may pad only where it has to, and may treat each width otherwise.
    """
    codes = cases.codes(4, 3, 300, seed=0)
    found = [lay(codes, "W_q") for lay in (as_parts, as_transposes, as_later_rows)]
    whole = [cases.codes(nbits, 3, 2 * tile, seed=0) for nbits, tile in _TILES.items()]
    return found + [lay(case, "W_q") for case in whole for lay in (as_transposes, as_later_rows)]


def _same_bytes():
    """Cases of the same bytes in every width, and in another shape."""
    W_q = cases.codes(1, 3, 70, seed=1).W_q
    bits = [(nbits, W_q) for nbits in range(1, 9)] + [(8, W_q.reshape(7, 30))]
    return [
        cases.CodesCase(
            f"{nbits}-bit, N = {len(codes)}, K = {codes.shape[1]}, codes 0 and 1", nbits, codes
        )
        for nbits, codes in bits
    ]


def _equal_codes():
    """Rows with one code throughout, so few that not every code can occur."""
    W_q = torch.zeros(1, 128, dtype=torch.uint8)
    return [
        cases.CodesCase(f"8-bit, N = 1, K = 128, all codes {code}", 8, W_q + code)
        for code in (0, 128, 255)
    ]


def _telling_words(nbits):
    """A row for each bit of the first word, which is the only bit set, and rows of telling words.

    Each word of those holds one code throughout, and every code fills a word.
    """
    codes_in_word = 32 // nbits
    lone_bits = torch.zeros(codes_in_word * nbits, codes_in_word, 32, dtype=torch.uint8)
    for row, fields in enumerate(lone_bits):
        fields[row // nbits, 0] = 1 << row % nbits
    codes = (torch.arange(max(32, 2**nbits)) % 2**nbits).to(torch.uint8)
    repeated = codes.reshape(-1, 1, 32).expand(-1, codes_in_word, -1)
    W_q = torch.cat([lone_bits, repeated]).flatten(1)
    size = f"{nbits}-bit, N = {len(W_q)}, K = {W_q.shape[1]}"
    label = f"{size}, rows with one bit and words with one code throughout"
    return cases.CodesCase(label, nbits, W_q)


def fresh_codes(seed):
    """Other codes in the shape of the first case, of a shape of their own, and of usual sizes.

    The width of each is drawn, but that of the first.
    """
    generator = torch.Generator().manual_seed(seed)
    nbits = int(torch.randint(1, 9, (), generator=generator))
    N = int(torch.randint(1, _MOST_FRESH_ROWS, (), generator=generator))
    K = int(torch.randint(1, _LONGEST_FRESH, (), generator=generator))
    again = cases.fresh(partial(cases.codes, *_SHAPES[0]), seed)
    found = again + cases.fresh(partial(cases.codes, nbits, N, K), seed)
    for N, K in usual_sizes(seed):
        fewest = _FEWEST_BITS_OF_MANY_ROWS if N >= _MANY_ROWS else 1
        nbits = int(torch.randint(fewest, 9, (), generator=generator))
        found += cases.fresh(partial(cases.codes, nbits, N, K), seed)
    return found


def fresh_whole_tiles(seed):
    """Codes of a width of their own in whole tiles."""
    nbits = 1 + seed % 8
    (case,) = cases.fresh(partial(cases.codes, nbits, 16, 3 * 32 * (32 // nbits)), seed)
    return case


def _exchanged(seed):
    return with_exchanges(fresh_whole_tiles(seed), "W_q", seed)


PACK = Exercise(
    name="pack",
    lesson="bitpacking",
    output="W_packed",
    dtype=torch.int32,
    is_kernel=False,
    hints=(
        "Draw one tile first: which k lie in word 0, from the most significant field down?",
        "Pad K to whole tiles, reshape to (N, tiles, pack_factor, 32): "
        "index 2 is the field, index 3 the lane.",
        "Field j goes left by 32 - nbits * (j + 1). Shift int32, not uint8, and combine with |.",
    ),
    cases=lambda: codes_cases() + _laid_otherwise() + _same_bytes(),
    fresh=lambda seed: [*fresh_codes(seed), *_exchanged(seed)],
    expected=lambda case: (pack_warped_int32(case.W_q, case.nbits), None),
    run=lambda answer, case, device: answer(case.W_q, case.nbits),
    traps=ALL_CONTIGUOUS,
)
