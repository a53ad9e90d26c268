"""Choose cases in which all pairs of values occur; `values` gives the (factor, value)s of a case.

The search is greedy: it first takes cases with many new pairs. Source: Kuhn, Kacker and Lei 2010,
NIST SP 800-142. Sets of values and of pairs are integers with a bit for each element, because each
worker of pytest searches through thousands of cases before its first test.
"""

from itertools import combinations


def pairs(case):
    """Every two factors of a case with their values."""
    return combinations(case.values, 2)


def covering(pool):
    """Cases of `pool`, a list, in which all pairs meet that meet in it."""
    masks = [of_pairs for _, of_pairs in _masks(pool)]
    missing, chosen = 0, []
    for mask in masks:
        missing |= mask
    for worth in (120, 90, 70, 55, 42, 32, 24, 18, 13, 9, 6, 4, 3, 2, 1):
        for case, mask in zip(pool, masks, strict=True):
            if (mask & missing).bit_count() >= worth:
                chosen.append(case)
                missing &= ~mask
    return chosen


def unlike(cases, count):
    """`count` of the cases, in which as many different pairs meet."""
    left, chosen = list(zip(cases, _masks(cases), strict=True)), []
    met_values, met_pairs = 0, 0
    for _ in range(count):
        best = max(left, key=lambda one: _worth(one[1], met_values, met_pairs))
        case, (of_values, of_pairs) = best
        chosen.append(case)
        met_values, met_pairs = met_values | of_values, met_pairs | of_pairs
        left.remove(best)
    return chosen


def _masks(cases):
    """For each case the bits of its values, and the bits of its pairs of values."""
    numbers = {value: None for case in cases for value in case.values}
    bit_of = {value: bit for bit, value in enumerate(numbers)}
    for case in cases:
        bits = sorted({bit_of[value] for value in case.values})
        of_values = sum(1 << bit for bit in bits)
        # Bit `b` meets each higher one: a row of a square with len(bit_of) bits a side.
        of_pairs = sum((of_values >> b + 1 << b + 1) << b * len(bit_of) for b in bits)
        yield of_values, of_pairs


def _worth(masks, met_values, met_pairs):
    """Pairs of a case that were not met yet; a value not met yet counts for many."""
    of_values, of_pairs = masks
    return 1000 * (of_values & ~met_values).bit_count() + (of_pairs & ~met_pairs).bit_count()
