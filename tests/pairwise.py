"""Choose cases in which all pairs of values occur; `values` gives the (factor, value)s of a case.

The search is greedy: it first takes cases with many new pairs. Source: Kuhn, Kacker and Lei 2010,
NIST SP 800-142.
"""

from itertools import combinations


def pairs(case):
    """Every two factors of a case with their values."""
    return combinations(case.values, 2)


def covering(pool):
    """Cases of `pool`, a list, in which all pairs meet that meet in it."""
    bit_of = {}
    masks = [
        sum({1 << bit_of.setdefault(pair, len(bit_of)) for pair in pairs(case)}) for case in pool
    ]
    missing, chosen = (1 << len(bit_of)) - 1, []
    for worth in (120, 90, 70, 55, 42, 32, 24, 18, 13, 9, 6, 4, 3, 2, 1):
        for case, mask in zip(pool, masks, strict=True):
            if (mask & missing).bit_count() >= worth:
                chosen.append(case)
                missing &= ~mask
    return chosen


def unlike(cases, count):
    """`count` of the cases, in which as many different pairs meet."""
    left, chosen, met = list(cases), [], set()
    for _ in range(count):
        best = max(left, key=lambda case: _worth(case, met))
        chosen.append(best)
        met |= {*pairs(best), *best.values}
        left.remove(best)
    return chosen


def _worth(case, met):
    """Pairs of a case that were not met yet; a value not met yet counts for many."""
    new_values = len(set(case.values) - met)
    return 1000 * new_values + sum(pair not in met for pair in pairs(case))
