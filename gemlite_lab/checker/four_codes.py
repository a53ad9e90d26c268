"""Exercise of ternary_packing: write four_codes, with which two kernels decode BitNet's words."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.ternary_cases import (
    GEMM,
    GEMV,
    TernaryCase,
    random_case,
    right_output,
    run_in_hole,
)

_NAME = "four_codes"


@cache
def _cases():
    return [
        _weights_themselves(40, 32),
        random_case(GEMV, 8, 40, 544, seed=1),
        random_case(GEMM, 3, 40, 64, seed=2),
        _equal_codes(1000, 32),
    ]


def _equal_codes(N, K):
    """Rows with one code throughout, words of 0 and of 1 in every bit, for many blocks."""
    case = random_case(GEMV, 8, N, K, seed=3)
    W_q = torch.arange(N).remainder(4).byte()[:, None].expand(N, K).contiguous()
    return replace(case, label=f"{case.label}, all codes of a row alike", W_q=W_q)


def _weights_themselves(N, K):
    """x is the identity, so that a wrong code is one wrong element of y."""
    W_q = random_case(GEMV, K, N, K, seed=0).W_q
    label = f"{GEMV}, M = {K}, N = {N}, K = {K}, x the identity: y[k, n] is code (n, k) - 2"
    return TernaryCase(label, GEMV, W_q, torch.eye(K, dtype=torch.int8))


def _run(answer, case, device):
    y, findings = run_in_hole(_NAME, answer, case, device)
    if findings:
        raise KernelFault(str(findings[0]))
    return y


FOUR_CODES = Exercise(
    name=_NAME,
    lesson="ternary_packing",
    output="y",
    dtype=torch.int64,
    is_kernel=True,
    hints=(
        "Write down the 32 bits of a word in four bytes, and in each 2-bit field which code it is. "
        "Where do codes 0, 1, 2 and 3 lie? And 4, 5, 6 and 7?",
        "The four codes that you want lie at the same place of the four bytes already. How far is "
        "that place from the bottom of its byte, for i = 0, 1, 2, 3?",
        "Shift the whole word down by that many bits, once. Then two bits of each byte are what "
        "you want, and the six above them are other codes: one mask of 32 bits clears them.",
    ),
    cases=_cases,
    fresh=lambda seed: fresh(partial(random_case, GEMV, 8, 40, 544), seed),
    expected=lambda case: (right_output(case), None),
    run=_run,
)
