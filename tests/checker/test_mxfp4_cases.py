"""What MXFP4 makes of the cases of mxfp4_encode, computed in two ways that share no line."""

import pytest
import torch

from gemlite_edu import MXFP4, quantize_to_format
from gemlite_lab.checker.mxfp4_cases import cases, encoding_of, fresh

_E8M0_BIAS = 127


@pytest.mark.parametrize("case", [*cases(), *fresh(5)], ids=lambda case: case.label)
def test_the_right_output_is_that_of_the_package(case):
    exponents, codes = encoding_of(case.w)
    q = quantize_to_format(case.w, MXFP4)
    assert torch.equal(q.codes.long(), codes)
    assert torch.equal(q.scales.view(torch.uint8).long() - _E8M0_BIAS, exponents)


def test_the_right_output_is_what_the_text_says():
    w = torch.zeros(1, 64)
    w[0, :10] = torch.tensor([5.0, -5.0, 0.25, -0.25, 0.75, 1.25, -2.5, 3.5, 7.9, -0.0])
    exponents, codes = encoding_of(w)
    assert exponents.tolist() == [[0, -127]]
    assert codes[0, :10].tolist() == [6, 14, 0, 0, 2, 2, 12, 6, 7, 0]
    assert not codes[0, 10:].any()


@pytest.mark.parametrize("reach, exponent", [(2.0**-149, -127), (2.0**-124, -126), (1.0, -2)])
def test_exponents_end_at_that_of_e8m0(reach, exponent):
    assert encoding_of(torch.full((1, 32), reach))[0].item() == exponent
