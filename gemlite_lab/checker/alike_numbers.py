"""`alike`: other arguments of the same sum or the same product, which a kept result may confuse."""

from itertools import combinations


def alike(arguments, steps):
    """Changes {name: number} of two of the `arguments` {name: number} each.

    steps: for each name, what its number may grow or shrink by. Two numbers keep their sum or their
    product, or change places, where all stay whole numbers and at least 1.
    """
    found = []
    for (one, a), (other, b) in combinations(arguments.items(), 2):
        step = max(steps[one], steps[other])
        pairs = (a + step, b - step), (a - step, b + step), (2 * a, b // 2), (a // 2, 2 * b), (b, a)
        for x, y in pairs:
            is_kept = x + y == a + b or x * y == a * b
            is_whole = x % steps[one] == 0 and y % steps[other] == 0
            if (x, y) != (a, b) and min(x, y) > 0 and is_kept and is_whole:
                found.append({one: x, other: y})
    return found
