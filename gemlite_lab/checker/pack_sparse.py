"""Exercise of sparse_1in2_7bit: write pack_sparse(W_q, kept)."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.packing import pack_sparse_1in2
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.exchanged import with_exchanges
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.laid_otherwise import (
    ALL_CONTIGUOUS,
    as_later_rows,
    as_parts,
    as_transposes,
)
from gemlite_lab.checker.sparse_cases import (
    NBITS,
    TILE,
    SparseCodesCase,
    real_sparse_codes,
    sparse_codes,
)
from gemlite_lab.checker.usual_sizes import usual_sizes

_SHAPES = ((3, 700), (2, 256), (5, 300), (1, 33), (2, 7), (4, 64), (2, 1100))  # N, K
_SIZES = (
    *((1, 1), (1, 2), (3, 31), (1, 32), (2, 63), (1, 65), (7, 255), (1, 257)),
    *((1, 70001), (1201, 1), (129, 3)),
)
_LONGEST_FRESH, _MOST_FRESH_ROWS = 3000, 9


@cache
def _cases():
    found = [sparse_codes(N, K, seed) for seed, (N, K) in enumerate(_SHAPES)]
    found[-1] = _with_any_pruned(found[-1], seed=0)
    sizes = [sparse_codes(N, K, seed) for seed, (N, K) in enumerate(_SIZES)]
    few = [_without_codes(), _with_nothing_kept(), _one_code_in_a_word()]
    return [*found, real_sparse_codes(), *sizes, *few, *_laid_otherwise()]


def _laid_otherwise():
    """Cases whose inputs are parts or transposes of other tensors.

    In the last ones K is a whole number of tiles, because an answer may pad only where it has to.
    """
    case, whole = sparse_codes(3, 300, seed=0), sparse_codes(3, 2 * TILE, seed=0)
    return [
        as_parts(case, "W_q", "kept"),
        as_transposes(as_parts(case, "W_q"), "kept"),
        as_transposes(case, "W_q"),
        as_later_rows(case, "W_q", "kept"),
        as_transposes(whole, "W_q", "kept"),
        as_transposes(whole, "kept"),
        as_later_rows(whole, "W_q", "kept"),
    ]


def _with_any_pruned(case, seed):
    """The case with any bytes for the codes that are pruned."""
    generator = torch.Generator().manual_seed(seed)
    any_byte = torch.randint(0, 256, case.W_q.shape, dtype=torch.uint8, generator=generator)
    label = f"{case.label}, pruned codes up to 255"
    return replace(case, label=label, W_q=torch.where(case.kept, case.W_q, any_byte))


def _without_codes():
    case = sparse_codes(1, 100, seed=0)
    return replace(case, label=f"{case.label}, all codes 0", W_q=0 * case.W_q)


def _one_code_in_a_word():
    """A row that keeps all first codes and one that keeps all second; each code fills a word."""
    codes = torch.arange(2**NBITS, dtype=torch.uint8).reshape(-1, 1, 32)
    W_q = codes.expand(-1, TILE // 32, -1).reshape(1, -1).repeat(2, 1)
    is_first = torch.arange(W_q.shape[1]) // 32 % 2 == 0
    kept = torch.stack([is_first, ~is_first])
    label = f"N = 2, K = {W_q.shape[1]}, one code throughout each word"
    return SparseCodesCase(label, NBITS, W_q, kept)


def _with_nothing_kept():
    """A row that ends before the second of any pair; no first is kept."""
    case = sparse_codes(2, 20, seed=0)
    return replace(case, label=f"{case.label}, nothing kept", kept=case.kept & False)


def _fresh(seed):
    generator = torch.Generator().manual_seed(seed)
    N = int(torch.randint(1, _MOST_FRESH_ROWS, (), generator=generator))
    K = int(torch.randint(1, _LONGEST_FRESH, (), generator=generator))
    again = fresh(partial(sparse_codes, *_SHAPES[0]), seed)
    found = again + fresh(partial(sparse_codes, N, K), seed)
    for N, K in usual_sizes(seed):
        found += fresh(partial(sparse_codes, N, K), seed)
    return [_with_any_pruned(case, seed) for case in found] + _exchanged(seed)


def _exchanged(seed):
    """Cases that differ in four kept codes, and cases that differ in the places of four pairs."""
    (case,) = fresh(partial(sparse_codes, 16, 2 * TILE), seed)
    of_codes = with_exchanges(case, "W_q", seed, case.kept)
    is_first = (torch.arange(2 * TILE) // 32 % 2 == 0).expand(16, -1)
    of_pairs = with_exchanges(case, "kept", seed, is_first)
    of_pairs = [
        replace(pairs, kept=torch.where(is_first, pairs.kept, ~pairs.kept.roll(32, 1)))
        for pairs in of_pairs
    ]
    return of_codes + of_pairs


PACK_SPARSE = Exercise(
    name="pack_sparse",
    lesson="sparse_1in2_7bit",
    output="W_packed",
    dtype=torch.int32,
    is_kernel=False,
    hints=(
        "Pad K to whole tiles of 256, then reshape so that the two of a pair lie in an axis of "
        "their own, of length 2. Pad `kept` as well.",
        "Reshape to (N, tiles, 4, 2, 32): the axis of 4 is the pair in a word, that of 2 is first "
        "or second, that of 32 is the lane. Choose a code with torch.where; bit 7 says whether the "
        "first is kept, so it is `kept` of the first, times 128.",
        "The byte of pair p goes left by 24 - 8 * p, as int32 and not as uint8 or bool.",
    ),
    cases=_cases,
    fresh=_fresh,
    expected=lambda case: (pack_sparse_1in2(case.W_q * case.kept, case.kept), None),
    run=lambda answer, case, device: answer(case.W_q, case.kept),
    traps=ALL_CONTIGUOUS,
)
