"""`make bench-model`: decode and prefill of whole models on this GPU, part after part."""

import argparse
import sys
import time
from pathlib import Path

import torch

from gemlite_lab.bench.candidate import installed_version
from gemlite_lab.bench.model.rows import model_path, newest_rows, read_rows


def main(arguments=None):
    """Return the exit status: 1 if nothing can be measured."""
    options = _options(arguments)
    if not installed_version("transformers"):
        print("bench-model runs transformers' Llama: pip install transformers", file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        print("torch sees no CUDA GPU here, and models are measured on one", file=sys.stderr)
        return 1
    _measure(options)
    return 0


def _measure(options):
    from gemlite_lab.bench.card import current_card
    from gemlite_lab.bench.model.report import bars, table
    from gemlite_lab.bench.model.run import Run, run_parts

    ends_at = time.monotonic() + 60 * options.minutes
    card = current_card()
    print(
        f"{card.name}: reads {card.read_gb_per_s:.0f} GB/s, "
        f"multiplies fp16 at {card.matmul_tflops:.0f} TFLOP/s"
    )
    path = options.rows or model_path(card.name)
    run_parts(options.parts, Run(torch.device("cuda"), card, path, ends_at))
    rows = newest_rows(read_rows(path)) if path.exists() else {}
    print(table(rows))
    for what, came, reached in bars(rows):
        print(f"{'reached' if reached else 'missed '} {what}: {came}")


def _options(arguments):
    parser = argparse.ArgumentParser(prog="make bench-model", description=__doc__)
    parser.add_argument("--parts", type=_parts, default="", help="e.g. '8B-ours 1B'; all if empty")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no further step after these"
    )
    parser.add_argument("--rows", type=Path, help="another CSV than that of benchmarks/data")
    return parser.parse_args(arguments)


def _parts(text):
    from gemlite_lab.bench.model.parts import parts_of

    try:
        return parts_of(text.split())
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


if __name__ == "__main__":
    sys.exit(main())
