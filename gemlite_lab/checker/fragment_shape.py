"""Exercise of w2a8_tensor_cores: choose a product's fragment shape by the bytes that it loads.

For some products the right counts come from the simulator, which runs gemm_a8w2_wmma, and not from
the formulas: the exercise models that kernel.
"""

from dataclasses import dataclass
from functools import cache

import torch

from gemlite_lab.checker.alike_numbers import alike
from gemlite_lab.checker.exercise import CheckFailed, Exercise, number
from gemlite_lab.checker.fragment_counts import (
    COUNTS,
    SHAPES,
    best_of,
    counted,
    fragments_of_a_warp,
    rank_of,
    right_costs,
)
from gemlite_lab.checker.fragment_products import (
    AGAINST_RULES_OF_THUMB,
    ASKED_TOGETHER,
    EXTREME_PRODUCTS,
    ONE_OTHER_ARGUMENT,
    PRODUCTS,
    drawn_products,
)
from gemlite_lab.checker.ternary_cases import plan_of_gemm
from gemlite_lab.sandbox.many_calls import results

_NAME, _BEST = "fragment_shape", "best"
_ARGUMENTS = ("M", "N", "K", "rows", "columns")


@dataclass(frozen=True)
class Products:
    """Products to ask an answer about, each (M, N, K, rows, columns) of y and a warp's tile.

    shapes: the shapes whose counts are compared; if empty, the shape that the answer calls best.
    is_simulated: the right counts are the simulator's, which has none for padding.
    """

    label: str
    products: tuple[tuple[int, int, int, int, int], ...]
    shapes: tuple[str, ...]
    is_simulated: bool = False

    @property
    def counts(self):
        return 2 if self.is_simulated else len(COUNTS)


def _costs(product):
    named = ", ".join(f"{name} = {value}" for name, value in zip(_ARGUMENTS, product, strict=True))
    label = f"{named} (a row is a shape of SHAPES; columns are {', '.join(COUNTS)})"
    return Products(label, (product,), SHAPES)


def _simulated(M, N, shape):
    K = plan_of_gemm(M, N, 32, shape).defines["BLOCK_K"]
    rows, columns = fragments_of_a_warp(M, N, K, shape)
    label = (
        f"gemm_a8w2_wmma with {shape} in the simulator, M = {M}, N = {N}, K = {K}, rows = {rows}, "
        f"columns = {columns} (columns are x_bytes, W_bytes)"
    )
    return Products(label, ((M, N, K, rows, columns),), (shape,), is_simulated=True)


def _best(products):
    listed = ", ".join(f"[{i}] {product}" for i, product in enumerate(products))
    label = f"the shape called best for ({', '.join(_ARGUMENTS)}) = {listed}"
    return Products(f"{label} (columns are its {', '.join(COUNTS)})", products, ())


@cache
def _cases():
    simulated = [_simulated(5, 40, shape) for shape in SHAPES]
    extreme = [*map(_costs, EXTREME_PRODUCTS), _best(EXTREME_PRODUCTS)]
    alike = [*map(_costs, ONE_OTHER_ARGUMENT), _best(ONE_OTHER_ARGUMENT)]
    starts = range(0, len(AGAINST_RULES_OF_THUMB), ASKED_TOGETHER)
    against = [_best(AGAINST_RULES_OF_THUMB[i : i + ASKED_TOGETHER]) for i in starts]
    return [*map(_costs, PRODUCTS), *simulated, _best(PRODUCTS), *extreme, *alike, *against]


def _fresh(seed):
    generator = torch.Generator().manual_seed(seed)
    M, N, steps, rows, columns = (
        int(torch.randint(1, end, (), generator=generator)) for end in (300, 300, 99, 5, 5)
    )
    products = ((M, N, 16 * steps, rows, columns),)
    own = dict(zip(_ARGUMENTS, *products, strict=True))
    others = alike(own, dict(zip(_ARGUMENTS, (1, 1, 16, 1, 1), strict=True)))
    return [_costs(*products), _best(products), _best(drawn_products(generator))] + [
        _costs(tuple((own | other).values())) for other in others
    ]


def _output(case, costs_of, best=best_of):
    """Counts of a case, (products or shapes, counts), given costs_of(M, N, K, rows, columns)."""
    found = []
    for product in case.products:
        costs = costs_of(*product)
        found += [costs[shape][: case.counts] for shape in case.shapes or [best(costs)]]
    return torch.tensor(found)


def _expected(case):
    if case.is_simulated:
        ((M, N, K, _, _),), (shape,) = case.products, case.shapes
        return torch.tensor([counted(M, N, K, shape)]), None
    return _output(case, right_costs), None


def _run(answer, case, device):
    returned = answer.run(results, case.products)
    found = {p: _checked(result) for p, result in zip(case.products, returned, strict=True)}
    if not case.shapes:
        _check_costs_again(found)
    return _output(case, lambda *product: found[product], _called_best)


def _called_best(costs):
    """The shape that the answer calls best, or the first of those that are just as good."""
    called, first = costs[_BEST], best_of(costs)
    return first if rank_of(costs[called]) == rank_of(costs[first]) else called


def _check_costs_again(found):
    """Raise CheckFailed if a call that is judged by its best shape has wrong costs."""
    for product, costs in found.items():
        if any(costs[shape] != counts for shape, counts in right_costs(*product).items()):
            raise CheckFailed(
                f"{_NAME} gives other costs when it is called again with {product}: return the "
                "right shape and the right costs from one call"
            )


def _checked(result):
    """{shape: counts} from the answer, and under _BEST the shape that it calls best."""
    if result is None:
        raise CheckFailed(f"{_NAME} returned None: write it, and return best, costs")
    if not isinstance(result, tuple | list) or len(result) != 2:
        count = f" of {len(result)}" if isinstance(result, tuple | list) else ""
        raise CheckFailed(f"{_NAME} returned a {type(result).__name__}{count}: return best, costs")
    best, costs = result
    if not isinstance(costs, dict) or sorted(costs, key=str) != sorted(SHAPES):
        names = ", ".join(map(repr, costs)) if isinstance(costs, dict) else type(costs).__name__
        raise CheckFailed(f"costs must be a dict with the keys of SHAPES, got {names}")
    if not isinstance(best, str) or best not in SHAPES:
        raise CheckFailed(f"best must be one of {', '.join(SHAPES)}, got {best!r}")
    return {shape: _whole_numbers(shape, costs[shape]) for shape in SHAPES} | {_BEST: best}


def _whole_numbers(shape, counts):
    if not isinstance(counts, tuple | list) or len(counts) != len(COUNTS):
        raise CheckFailed(f"costs of {shape} must be ({', '.join(COUNTS)}), got {counts!r}")
    values = [number(count) for count in counts]
    for name, value in zip(COUNTS, values, strict=True):
        if value is None or value != value.round():
            came = "None" if value is None else f"{value:g}"
            raise CheckFailed(f"{name} of {shape} is {came}, and must be a whole number")
    return tuple(int(value) for value in values)


FRAGMENT_SHAPE = Exercise(
    name=_NAME,
    lesson="w2a8_tensor_cores",
    output="counts",
    dtype=torch.int64,
    is_kernel=False,
    hints=(
        "Draw y for M = 5, N = 40 and tiles of one 16x16x16 fragment. How many tiles are there, "
        "and how many rows of x and of W does each of them load?",
        "A tile has rows * tokens of M and columns * outputs of N. Count the tiles "
        "along M and along N, both rounded up. Each of all these tiles loads its own x and its "
        "own W, of all K, a byte each.",
        "A tile computes tokens times outputs times K products; M * N * K of all products go into "
        "y, and the others are padding. For the best shape compare pairs: (x_bytes + W_bytes, "
        "padding); Python compares the second numbers where the first ones are equal.",
    ),
    cases=_cases,
    fresh=_fresh,
    expected=_expected,
    run=_run,
    runs_in="gemlite_lab.sandbox.many_calls",
)
