"""Launches at the edges of every kernel's contract, for compute-sanitizer to watch."""

import torch
from kernel_cases import VARIANTS, Case, make_case

from gemlite_edu import load

SHAPES = [(1, 1, 1), (33, 1000, 2), (31, 1152, 1)]


def main():
    count = 0
    for variant in VARIANTS:
        for N, K, M in SHAPES:
            case = Case(variant, torch.float16, N, K, M, per_row=True)
            inputs = make_case(case)
            y = load(case.kernel, case.nbits)(*inputs.operands("cuda"))
            assert torch.equal(y.cpu(), inputs.expected.half()), case
            count += 1
    print(f"{count} launches")


if __name__ == "__main__":
    main()
