"""Exercise of quantize: write best_scale, the candidate whose marks lie nearest to a row.

An index alone would not tell one mistake from another. So a case has many rows, each is a call, and
the indices of all of them are judged together.
"""

from dataclasses import replace

import torch

from gemlite_lab.checker import close_rows
from gemlite_lab.checker.alike_rows import alike_rows, rows_of_every_width
from gemlite_lab.checker.close_rows import Rows, errors
from gemlite_lab.checker.exercise import CheckFailed, Exercise, number
from gemlite_lab.checker.laid_otherwise import ALL_CONTIGUOUS
from gemlite_lab.lesson.real_layer import real_layer
from gemlite_lab.sandbox.many_calls import results

_NAME = "best_scale"
# Short binary fractions, so that the errors of weights in quarters are exact, and ties are ties.
_SCALES = torch.tensor([0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0])
_FRACTIONS_OF_FULL = torch.arange(20, 8, -1) / 20
_CLEARLY = 1e-4
_MOST_WEIGHTS_SHOWN = 10
_MOST_CANDIDATES_SHOWN = 12
_REAL_ROWS = 12
_CANDIDATES = 65, 300  # from which the number of many is drawn


def _quarters(nbits, K, rows, seed):
    """Rows of quarters: every third has an outlier, every fourth has small numbers, for ties.

    Every fifth is small as a whole, so that an end of the codes between 0 and the right one shows.
    """
    generator = torch.Generator().manual_seed(seed)
    reach = 3 * 2 ** (nbits - 1)
    W = torch.randint(-reach, reach + 1, (rows, K), generator=generator) / 4
    W[1::4] = torch.randint(-1, 2, W[1::4].shape, generator=generator).float()
    W[2::3, K // 2] *= 3
    W[2::9, K // 2] *= 32  # beyond 8 bits
    W[4::5] = W[4::5].round() / 4
    W[3] = 0
    order = torch.rand(rows, len(_SCALES), generator=generator).argsort(1)
    candidates = _SCALES[order][:, :5]
    candidates[::5, 4] = candidates[::5, 1]  # equal scales have equal errors
    return Rows("rows of quarters", nbits, W, candidates)


def _one_weight():
    W = torch.tensor([0.0, 1.0, -1.0, 3.0, -3.0, 2.5, -9.0, 0.25, 40.0]).view(-1, 1)
    candidates = torch.tensor([1.0, 3.0, 0.5, 2.0]).repeat(len(W), 1)
    candidates[::2] = candidates[::2].flip(1)
    return Rows("rows", 2, W, candidates)


def _as_columns(case):
    """The case with its rows and its candidates as columns of other tensors."""
    laid = {name: getattr(case, name).T.contiguous().T for name in ("W", "candidates")}
    return replace(case, what=f"{case.what}, columns of another tensor", **laid)


def _real_rows(nbits):
    """Rows of ffn_up, with candidates from the scale that clips nothing down to 0.45 of it."""
    W = real_layer("ffn_up").weight.float()[:_REAL_ROWS]
    full = W.abs().amax(1, keepdim=True) / (2 ** (nbits - 1) - 1)
    candidates = full * _FRACTIONS_OF_FULL
    best = errors(W, nbits, candidates).sort(1).values
    is_clear = best[:, 1] > best[:, 0] * (1 + _CLEARLY)
    return Rows("rows of ffn_up", nbits, W[is_clear], candidates[is_clear])


def _cases():
    return [
        # The first one, because at 2 bits a ^ for ** looks like another mistake.
        _quarters(nbits=6, K=10, rows=60, seed=1),
        _quarters(nbits=2, K=8, rows=60, seed=0),
        _quarters(nbits=3, K=5, rows=40, seed=2),
        _quarters(nbits=1, K=6, rows=40, seed=3),
        _quarters(nbits=8, K=33, rows=20, seed=4),
        _one_weight(),
        _as_columns(_quarters(nbits=4, K=7, rows=20, seed=6)),
        close_rows.late_weights(0, 700, 4100, 19_999),
        close_rows.late_weights(200, 1040, 19_998),
        close_rows.many_candidates(300, 299, 40),
        close_rows.fine_rows(),
        close_rows.finer_rows(),
        close_rows.in_units(_quarters(nbits=3, K=8, rows=30, seed=5)),
        close_rows.in_units(_quarters(nbits=4, K=9, rows=24, seed=10)),
        close_rows.long_rows(-5, rows=4),
        close_rows.long_rows(-12, rows=5),
        close_rows.rounded_products(),
        close_rows.rounded_differences(),
        close_rows.near_middles(),
        close_rows.rows_of_one_winner(),
        close_rows.huge_weights(),
        close_rows.nearly_on_marks(),
        close_rows.at_the_ends(_quarters(nbits=4, K=7, rows=24, seed=11)),
        close_rows.repeated_neighbours(_quarters(nbits=4, K=7, rows=24, seed=12)),
        *rows_of_every_width(),
        _real_rows(nbits=4),
        _real_rows(nbits=3),
    ]


def _fresh(seed):
    generator = torch.Generator().manual_seed(seed)
    nbits, K = (int(torch.randint(*ends, (), generator=generator)) for ends in ((2, 9), (2, 50)))
    count = int(torch.randint(*_CANDIDATES, (), generator=generator))
    many = close_rows.many_candidates(
        count, count - 1, int(torch.randint(64, count, (), generator=generator))
    )
    quarters = [_quarters(nbits, K, 20, seed), _quarters(nbits, K, 20, seed + 1)]
    return [*quarters, many, *alike_rows(seed)]


def _expected(case):
    return errors(case.W, case.nbits, case.candidates).argmin(1).double(), None


def _inputs_of(case, element):
    (row,) = element
    w, candidates = case.W[row].tolist(), case.candidates[row].tolist()
    if len(w) > _MOST_WEIGHTS_SHOWN:
        return ""
    given = f"Row {row} has w = {w}, nbits = {case.nbits}"
    if len(candidates) <= _MOST_CANDIDATES_SHOWN:
        return f"{given}, candidates = {candidates}."
    first = candidates[:_MOST_CANDIDATES_SHOWN]
    best = int(_expected(case)[0][row])
    return (
        f"{given}, and {len(candidates)} candidates: the first are {first}, and candidate {best} "
        f"is {candidates[best]}."
    )


def _alone(row):
    """A copy of a row of a tensor; its numbers lie as far apart, with ones before and between."""
    (step,) = row.stride()
    copy = row.new_ones(1 + len(row) * step)[1::step]
    return copy.copy_(row)


def _run(answer, case, device):
    rows = zip(case.W, case.candidates, strict=True)
    returned = answer.run(results, [(_alone(w), case.nbits, _alone(scales)) for w, scales in rows])
    if any(index is None for index in returned):
        raise CheckFailed(f"{_NAME} returned None: write it, and return the index")
    return torch.stack([number(index) for index in returned])


BEST_SCALE = Exercise(
    name=_NAME,
    lesson="quantize",
    output="index_of_row",
    dtype=torch.float64,
    is_kernel=False,
    hints=(
        "Take w = [1.0, 1.0, 1.0, -9.0], 2 bits, and the scales 1 and 4, by hand. Which codes are "
        "there? What does each weight become, and what are the four squared errors?",
        "For each candidate: divide, round, clamp, multiply by the scale again, subtract from w, "
        "square, sum. 2 bits have the codes -2 to 1: one more below 0 than above.",
        "Begin with w.double(), so that no sum is rounded. Collect the sums in a list or a tensor; "
        "argmin gives the first of equals, and in a loop of your own < does.",
    ),
    cases=_cases,
    fresh=_fresh,
    expected=_expected,
    run=_run,
    runs_in="gemlite_lab.sandbox.many_calls",
    inputs_of=_inputs_of,
    traps=ALL_CONTIGUOUS,
)
