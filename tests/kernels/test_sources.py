import re

import pytest

from gemlite_edu.kernels import compiler_errors, holes, sources, tokens
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.runners.load import load

GOOD = "__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) { return zero; }"


def lines_by_directive(text):
    """{(file, line number): line} as a compiler counts after #line directives."""
    found, file, number = {}, None, 0
    for line in text.split("\n"):
        jump = re.match(r'#line (\d+) "(.*)"', line)
        if jump:
            number, file = int(jump[1]), jump[2]
        else:
            found[file, number] = line
            number += 1
    return found


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_line_keeps_its_number_in_its_own_file(kernel):
    for (file, number), line in lines_by_directive(sources.expand(kernel)).items():
        original = sources.read(file).split("\n")
        if line and number <= len(original):
            assert line == original[number - 1], (file, number)


def test_lines_after_a_longer_replacement_keep_their_numbers():
    text = sources.expand("gemv_a16wn_fp32", {"dequant_dot": GOOD + "\n" * 50})
    lines = lines_by_directive(text)
    original = sources.read("gemv_a16wn_fp32.cu").split("\n")
    number = original.index('#include "gemv.cuh"')
    assert lines["gemv_a16wn_fp32.cu", number] == "" == original[number - 1]
    assert lines["dequant_dot", 1] == GOOD
    gemv = sources.read("gemv.cuh").split("\n")
    barrier = next(i for i, line in enumerate(gemv) if "stage_to_shared(&x" in line)
    assert lines["gemv.cuh", barrier + 1] == gemv[barrier]


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_file_is_included_once(kernel):
    text = sources.expand(kernel)
    assert text.count("constexpr int WARP_SIZE = 32;") == 1
    assert '#include "' not in text


@pytest.mark.parametrize("kernel", KERNELS)
def test_putting_a_hole_back_changes_nothing(kernel):
    text = sources.expand(kernel)
    for name in re.findall(r"// BEGIN HOLE (\w+)", text):
        again = sources.expand(kernel, {name: sources.hole(name, kernel)})
        assert re.sub(r"#line.*\n", "", again) == re.sub(r"#line.*\n", "", text).replace(
            sources.hole(name, kernel), sources.hole(name, kernel) + "\n"
        )


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("__device__ float other() { return 1; }", r"must define the function dequant_dot\(...\)"),
        ("// dequant_dot(", r"must define the function"),
        (GOOD + "}", "opens 1 braces and closes 2"),
        ("float twice(float v) { return 2 * v; }\n" + GOOD, r"say __device__ before twice\(...\)"),
        (GOOD.replace("__device__ ", ""), r"say __device__ before dequant_dot\(...\)"),
        ("const float table[2] = {1, 2};\n" + GOOD, "an array outside its functions"),
        ("thread_local int q;\n" + GOOD, "says thread_local"),
        ("#include <cuda.h>\n" + GOOD, "must not include files"),
        (GOOD.replace("zero;", "zero"), r"dequant_dot, line 1: expected ';'"),
        ("\n" + GOOD.replace("return zero", "\n return zeros"), r"line 2: 'zeros' was not"),
        (
            "__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {\n"
            "  float sum; if (word) sum = zero; return sum;\n}",
            r"give it a value where you declare it",
        ),
        (
            GOOD.replace("float zero", "int zero, int more"),
            r"gemv.cuh, line \d+: too few arguments",
        ),
    ],
)
def test_a_text_that_cannot_stand_in_the_hole_is_explained(text, sentence):
    with pytest.raises(KernelTextError, match=sentence):
        load("gemv_a16wn_fp32", nbits=4, replace={"dequant_dot": text}, device="cpu")


def test_the_first_error_of_nvcc_is_found_as_well():
    output = 'ninja: x\ndequant_dot(3): error: identifier "summ" is undefined\n  return summ;\n'
    error = compiler_errors.explain_compiler_error(
        output, {"dequant_dot": "\na\nb\n  return summ;"}
    )
    assert str(error) == ('dequant_dot, line 3: identifier "summ" is undefined\n    return summ;')


@pytest.mark.parametrize("beside, line", [
    ("", "line 2: __device__ int dequant_dot() {"),
    ("dequant_dot:3:12:   required from here\n", "line 3: return ceil_div(1.5f, 2);"),
])  # fmt: skip
def test_an_error_around_the_hole_leads_to_a_line_of_the_text_in_it(beside, line):
    output = f"gemv.cuh:35:7: error: cannot convert\n{beside}"
    text = (
        "\n// dequant_dot(): mine\n__device__ int dequant_dot() {\n  return ceil_div(1.5f, 2);\n}"
    )
    error = compiler_errors.explain_compiler_error(output, {"dequant_dot": text})
    assert str(error) == (
        "gemv.cuh, line 35: cannot convert (that line is not yours: it uses your dequant_dot)\n"
        f"    dequant_dot, {line}"
    )


def test_assembly_of_a_gpu_is_explained_at_its_line():
    output = "dequant_dot: Assembler messages:\ndequant_dot:3: Error: no such instruction: `lop3'\n"
    error = compiler_errors.explain_compiler_error(output, {"dequant_dot": "\na\nb\n  asm(lop3);"})
    assert re.match(r"dequant_dot, line 3: no such instruction: `lop3' \(asm is for", str(error))
    assert str(error).endswith("\n    asm(lop3);")


def test_a_failure_that_is_no_message_is_shown_whole():
    assert "killed by signal 9" in str(
        compiler_errors.explain_compiler_error("g++: killed by signal 9")
    )


@pytest.mark.parametrize("replace", [{"dequant": GOOD}, {"dequant_dot": 3}])
def test_wrong_holes_and_types_are_named(replace):
    with pytest.raises((ValueError, TypeError), match="dequant"):
        sources.expand("gemv_a16wn_fp32", replace)


@pytest.mark.parametrize(
    "before",
    [
        "const char brace = '{'; // {\"",
        "using Row = float[16];",
        '/*\n#include "old.cuh"\n*/',
        "#define TWICE(v) (2 * (v))",
        "__constant__ float table[2] = {1, 2};",
        "__shared__ float table[2];",
        "constexpr int twice(int v) { return 2 * v; }",
        "template <typename T>\n__device__ T twice(T v) { return v + v; }",
        "struct Pair { float a, b; };",
    ],
)
def test_what_cuda_allows_may_stand_before_the_function(before):
    text = f"{before}\n{GOOD}"
    load("gemv_a16wn_fp32", nbits=4, replace={"dequant_dot": text}, device="cpu")


def test_windows_line_endings_count_like_others():
    text = "\r\n" + GOOD.replace("return zero", "\r\n return zeros")
    with pytest.raises(KernelTextError, match="line 2: 'zeros' was not"):
        load("gemv_a16wn_fp32", nbits=4, replace={"dequant_dot": text}, device="cpu")


def test_a_text_is_taken_apart_once_for_all_rules(monkeypatch):
    sources.expand("gemv_a16wn_fp32", {"dequant_dot": GOOD})
    monkeypatch.setattr(tokens, "Token", None)
    (code,) = holes.code_here("dequant_dot", GOOD)
    assert code[0].text == "__device__"


def test_a_kernel_is_read_once_for_its_holes(monkeypatch):
    shipped = sources.hole("dequant_dot", "gemv_a16wn_fp32")
    monkeypatch.setattr(sources, "read", None)
    assert sources.hole("dequant_dot", "gemv_a16wn_fp32") == shipped
