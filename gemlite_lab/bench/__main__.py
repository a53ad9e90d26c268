"""`make bench`: measure kernels on the GPU; without one, the loop from an edit to an answer."""

import argparse
import re
import sys

import torch

from gemlite_lab.bench.problem import WeightFormat

_SHAPES, _MS = "4096x4096", "1 16"
_WEIGHTS = "W16 W8 W8g128 W4 W4g128 W2 W2g128 W1 W1g128"


def main(arguments=None):
    """Return the exit status: 1 if nothing could be measured."""
    options = _options(arguments)
    chosen = _choose(options.kernels)
    if not torch.cuda.is_available():
        from gemlite_lab.bench.loop import print_figures

        print_figures()
        return 0
    from gemlite_lab.bench.run import cells_of, problems_of

    _say_what_is_left_out(chosen, options)
    problems = problems_of(options.weights, options.shapes, options.m, options.transposed)
    cells = cells_of(chosen, problems)
    if not cells:
        _say_why_none(chosen, problems)
        return 1
    return _run_and_show(cells)


def _run_and_show(cells):
    from gemlite_lab.bench.card import current_card
    from gemlite_lab.bench.measurements import path_of
    from gemlite_lab.bench.run import run
    from gemlite_lab.bench.table import table

    card = current_card()
    print(
        f"{card.name}: reads {card.read_gb_per_s:.0f} GB/s, "
        f"multiplies fp16 at {card.matmul_tflops:.0f} TFLOP/s"
    )
    path = path_of(card.name)
    rows, failures = run(cells, card, path)
    print(table(rows))
    for candidate, problem, error in failures:
        print(f"{candidate.name}, {problem}: it raised {error}")
    if rows:
        print(f"\n{len(rows)} rows appended to {path}")
    return int(all(row.refused for row in rows))


def _options(arguments):
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--kernels", type=str.split, default=[], help="names; all by default")
    parser.add_argument("--shapes", type=_shapes, default=_SHAPES, help="NxK, e.g. 4096x14336")
    parser.add_argument("--m", type=_positive_numbers, default=_MS, help="rows of x")
    parser.add_argument("--weights", type=_formats, default=_WEIGHTS, help="e.g. W4g128, W8, W16")
    parser.add_argument("--transposed", action="store_true", help="x W instead of x Wᵀ")
    return parser.parse_args(arguments)


def _shapes(text):
    found = [re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", word) for word in text.split()]
    if not found or None in found:
        raise argparse.ArgumentTypeError(f"shapes are written 4096x14336, N x K, got {text!r}")
    return [(int(match[1]), int(match[2])) for match in found]


def _positive_numbers(text):
    if not re.fullmatch(r"\s*[1-9]\d*(\s+[1-9]\d*)*\s*", text):
        raise argparse.ArgumentTypeError(f"M is numbers from 1 up, like '1 16', got {text!r}")
    return [int(word) for word in text.split()]


def _formats(text):
    try:
        return [WeightFormat.parse(word) for word in text.split()]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _choose(names):
    from gemlite_lab.bench.candidate import find_candidates

    known = find_candidates()
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"there is no kernel {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names or known]


def _say_what_is_left_out(chosen, options):
    missing = sorted({c.package for c in chosen if not c.version()})
    if missing:
        print(
            f"not installed, so not measured: {', '.join(missing)} "
            "(.venv/bin/python -m pip install -e '.[peers]' -c constraints.txt)"
        )
    for format in options.weights:
        ragged = sorted({K for _, K in options.shapes if not format.divides(K)})
        if ragged:
            print(f"{format} left out at K = {', '.join(map(str, ragged))}: no whole groups")


def _say_why_none(chosen, problems):
    print("none of these kernels takes any of these weights and shapes; they take", file=sys.stderr)
    for candidate in chosen:
        reasons = dict.fromkeys(candidate.why_not_here(problem) for problem in problems)
        print(f"  {candidate.name}: {'; '.join(reasons)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
