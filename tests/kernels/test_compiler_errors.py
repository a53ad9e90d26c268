"""What compilers say reaches a learner without the names of the simulator."""

import pytest

from gemlite_edu.kernels.compiler_errors import explain_compiler_error
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners.simulator.build import build_kernel
from gemlite_lab.lesson.launch import with_headers

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
            "mine:2:5: error: could not convert '(((f, (pairs, (((unsigned int)f) > 31))) ? <ubsan "
            "routine call> : (void)0), (pairs >> f))' from 'uint32_t' to 'half2'",
            "could not convert this expression from 'uint32_t' to 'half2'",
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


FIRST_KERNEL = """
__global__ void mine(const float* x, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  LINE
  y[i] = x[i];
}
"""


@pytest.mark.parametrize(
    "line, advice",
    [
        ("float v = 2", "a statement ends with a semicolon"),
        ("float v = 2  // two", "a statement ends with a semicolon, and // begins a comment"),
        ("int row = i // 3", "ints divide with /"),
        ("sum = 0.0f;", "the line that makes a variable says its type"),
        ("for (k = 0; k < N; ++k) y[k] = 0.0f;", "the line that makes a variable says its type"),
        ("float sum = k;", "nothing of that name exists here"),
        ("k = i + unknown;", "the line that makes a variable says its type"),
        ("y[i] = nowhere_made;", "nothing of that name exists here"),
        ("if i < N: y[i] = x[i];", "the condition of an if or a loop in parentheses"),
        ("if (i < N): y[i] = x[i];", "C has no colon there"),
        ("if (i = N) y[i] = x[i];", "= assigns; == asks whether two are equal"),
        ("if (i < N) x[i] = 2.0f;", "read-only element of 'x' (const means that it is never"),
        ("for k in range(N): y[k] = x[k];", "a loop in C: for (int k = 0; k < N; ++k)"),
        ("for (int k = 0, k < N, ++k) y[k] = x[k];", "divided by semicolons, not by commas"),
        ("y[i] = x[i] if i < N else 0.0f;", "`condition ? this : that`"),
        ("y[i] = 2.0f * x;", "a pointer is the address of all elements: x[i] is one of them"),
        ("y = x[i];", "write one of them, y[i] = ..."),
        ("int n = x;", "a pointer is no number: x[i] is one of its elements"),
        ("y(i) = x(i);", "an element is in square brackets"),
        ("y[i] = x[i][0];", "only one index fits"),
        ("float j = 2; y[j] = x[i];", "an index is a whole number"),
        ("y[i] = x[i] % 2;", "only whole numbers have %"),
        ("y[i] = x[i] ** 2;", "C has no **"),
        ("int j = blockIdx * blockDim;", "take one direction of each"),
        ("int j = threadIdx.X;", "the directions are .x, .y and .z"),
        ("if (i < len(x)) y[i] = x[i];", "a pointer knows no length"),
        ("if (i < x.size()) y[i] = x[i];", "C has no methods"),
        ("y[i] = x[i].float();", "C has no methods"),
        ("# a comment", "a comment in C begins with //"),
        ("bool found = True;", "C writes true and false"),
        ("print(i);", 'CUDA prints with printf("%d\\n", i)'),
        ("y[i] = to_float(x[i]);", "static_cast<float>(...) makes a float"),
        ("return x[i];", "a kernel returns nothing"),
        ("y[i] = __shfl_down_sync(x[i], 1);", "the mask, the value and the distance"),
        ("y[i] = static_cast<float> i;", "static_cast<float>(n): what it converts is in parenth"),
        ("half h = x; y[i] = h;", "a pointer is no number: x[i] is one of its elements"),
        ("half h = 2.0f; y[i] = h * 2.0f;", "make a half a float first"),
        ("half* h = x; y[i] = 0.0f;", "a pointer has the type of what it points at"),
        ("const float* row = x[i];", "its address is &x[i]"),
        ("const float* row = i;", "a number stands where an address is asked for"),
        ("float y[i] = x[i];", "an element is written without, y[i] = ..."),
        ("float y[i];", "needs the length of an array as a constant"),
        ("y[2i] = x[i];", "C has no product without its sign"),
        ("uint32 j = i; y[j] = x[i];", "without a sign a uint32_t"),
        ("__shared__ tile[32][33];", "the type is missing: __shared__ float a[8][9]"),
        ("extern __shared__ tile[32][33];", "without extern where the size is known"),
        ("pow2 = i / N;", "the line that makes a variable says its type"),
        ("row = i / N;", "the line that makes a variable says its type"),
        ("const int at = x + i;", "an address goes into a pointer: the * stands behind its type"),
        ("y[i] = fmaxf(x, 0.0f);", "a pointer is the address of all elements"),
    ],
)
def test_the_first_mistakes_in_c_are_explained_on_their_own_line(line, advice):
    text = FIRST_KERNEL.replace("LINE", line)
    with pytest.raises(KernelTextError) as caught:
        build_kernel(with_headers("mine", text), "mine", {}, {"mine": text})
    said = str(caught.value)
    assert said.startswith("mine, line 3: ") and said.endswith(f"\n    {line}")
    assert advice in said and "Sim" not in said


@pytest.mark.parametrize(
    "made", ["{ int group = 3; }", "for (int group = 0; group < 3; ++group);", "{ float group; }"]
)
def test_a_name_used_behind_its_braces_is_said_to_have_ended(made):
    output = "mine:3:3: error: 'group' was not declared in this scope; did you mean 'groups'?"
    text = f"void f(int groups) {{\n{made}\nreturn group;\n}}"
    said = str(explain_compiler_error(output, {"mine": text}, text))
    assert "scope (group ends with the braces or the loop in which line 2 makes it)\n" in said
    no_such = text.replace("group;\n", "grip;\n").replace(made, "")
    assert "ends with" not in str(explain_compiler_error(output, {"mine": no_such}, no_such))


def test_a_word_of_two_numbers_is_told_from_one():
    output = "mine:1:1: error: no match for 'operator>>' (operand types are 'Word' and 'int')"
    said = str(explain_compiler_error(output, {"mine": "int low = word >> 2;"}))
    assert "(it takes one of the two: word.low or word.high)" in said


@pytest.mark.parametrize(
    "unknown, suggested, is_told",
    [
        ("offset", "off_t", False),
        ("sim", "sim_lane", False),
        ("rwo", "row", True),
        ("code_mask", "CODE_MASK", True),
        ("__synchthreads", "__syncthreads", True),
        ("sqrft", "sqrtf", True),
    ],
)
def test_only_names_of_the_kernel_and_of_cuda_are_suggested(unknown, suggested, is_told):
    output = (
        f"mine:1:20: error: '{unknown}' was not declared in this scope; did you mean '{suggested}'?"
    )
    text = f"int row = 3 * {unknown};"
    said = str(explain_compiler_error(output, {"mine": text}, f"#define CODE_MASK 15\n{text}"))
    assert (f"did you mean '{suggested}'" in said) == is_told
    assert ("nothing of that name exists here" in said) != is_told
