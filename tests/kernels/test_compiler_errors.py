"""What compilers say reaches a learner without the names of the simulator."""

import pytest

from gemlite_edu.kernels.compiler_errors import explain_compiler_error

TEXT = {"mine": "line one\nhalf h = f(word);"}
OF_THE_SIMULATOR = "SimSixteenBits<SimHalfFormat, SimHalfPowers>"


@pytest.mark.parametrize(
    "output, sentence",
    [
        (
            "mine:2:5: error: '__float2half' was not declared in this scope; did you mean "
            "'sim_fp16::__float2half'?",
            "__float2half comes from <cuda_fp16.h>, which this kernel does not include",
        ),
        (
            "mine:2:5: error: '__hmul' was not declared in this scope; did you mean '__fmul'?",
            "__hmul takes half or bfloat16 numbers, and gets none here",
        ),
        (
            f"mine:2:5: error: conversion from 'int' to 'sim_fp16::half2' {{aka "
            f"'SimPair<{OF_THE_SIMULATOR} >'}} requested",
            "conversion from 'int' to 'half2' requested",
        ),
        (
            f"mine:2:5: error: cannot convert 'const {OF_THE_SIMULATOR}*' to 'float'",
            "cannot convert 'const half*' to 'float'",
        ),
        (
            "/a/shim/qualifiers.h:25:28: error: cannot convert 'const uint3' to 'int'\n"
            "mine:2:9: note: in expansion of macro 'threadIdx'",
            "cannot convert 'const uint3' to 'int'",
        ),
    ],
)
def test_an_error_has_the_words_and_the_line_of_the_learner(output, sentence):
    said = str(explain_compiler_error(output, TEXT))
    assert said.startswith(f"mine, line 2: {sentence}") and said.endswith("half h = f(word);")
    assert "sim_" not in said and "Sim" not in said and ".h," not in said
