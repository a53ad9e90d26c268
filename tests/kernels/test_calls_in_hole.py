"""A line around a replaced hole leads to the lines of the text in it."""

import pytest

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.calls_in_hole import lead_to_own_line, lines_by_place

SCALED_DOT = """
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  // dequant_dot(word, x, zero) would be enough
  return scales[0] * dequant_dot(from_code(word, 0), x + 99, zeros[0]);
}
"""
CALL = "return scales[0] * dequant_dot(from_code(word, 0), x + 99, zeros[0]);"


def place_of(text, source):
    return next(place for place, line in lines_by_place(source).items() if text in line)


@pytest.fixture(scope="module")
def source():
    return sources.expand("gemv_a16wn_fp32", {"scaled_dot": SCALED_DOT})


def test_lines_are_counted_in_their_own_files(source):
    lines = lines_by_place(source)
    assert lines["scaled_dot:4"].strip() == CALL
    for file in ("gemv.cuh", "gemv_a16wn_fp32.cu"):
        shipped = sources.read(file).splitlines()
        for place, line in lines.items():
            name, _, number = place.rpartition(":")
            if name == file and line and int(number) <= len(shipped):
                assert line == shipped[int(number) - 1]


def test_it_leads_to_the_call_of_the_function_around_the_line(source):
    place = place_of("to_float(x[j * WARP_SIZE])", source)
    assert lead_to_own_line(place, source) == (
        "That line is not yours. Your text calls its function here:\n"
        f"    scaled_dot, line 4: {CALL}"
    )


def test_it_leads_to_the_call_of_a_function_that_calls_the_other(source):
    place = place_of("__half2float", source)
    assert f"scaled_dot, line 4: {CALL}" in lead_to_own_line(place, source)


def test_of_several_calls_it_says_that_one_did_it():
    twice = SCALED_DOT.replace("return ", "x = x + dequant_dot(word, x, 0.0f);\n  return ")
    source = sources.expand("gemv_a16wn_fp32", {"scaled_dot": twice})
    place = place_of("to_float(x[j * WARP_SIZE])", source)
    assert lead_to_own_line(place, source) == (
        "That line is not yours. Your text calls its function in these lines, one of which did it:"
        "\n    scaled_dot, line 4: x = x + dequant_dot(word, x, 0.0f);"
        f"\n    scaled_dot, line 5: {CALL}"
    )


def test_a_line_that_the_text_does_not_call_has_its_cause_there(source):
    place = place_of("const SUM_T scale = scales[0]", source)
    said = "That line is not yours: look for the cause in your scaled_dot."
    assert lead_to_own_line(place, source) == said


def test_there_is_nothing_to_say_of_an_own_line_of_none_and_of_a_shipped_kernel(source):
    assert lead_to_own_line("scaled_dot:4", source) == ""
    assert lead_to_own_line("", source) == ""
    shipped = sources.expand("gemv_a16wn_fp32")
    assert lead_to_own_line(place_of("__half2float", shipped), shipped) == ""
