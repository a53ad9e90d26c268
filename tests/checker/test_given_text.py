"""The text that an exercise gives to repair is refused unnamed, as long as it is as given."""

import pytest

from gemlite_lab.checker import EXERCISES, CheckFailed
from gemlite_lab.checker.given_text import refuse_text_as_given

GIVEN = """
__device__ float scaled_dot(Word word, const X_T* x, int k, const float* scales, const float* zeros,
                            int groups) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const int group = min((k + j * WARP_SIZE) / GROUP_SIZE, groups - 1);
    const float code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    const float weight = scales[group] * code - zeros[group];
    sum += weight * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
"""


@pytest.mark.parametrize("text", [GIVEN, GIVEN.replace("  ", " ").replace("{\n", "{  // why?\n")])
def test_comments_and_spaces_leave_the_text_as_given(text):
    with pytest.raises(CheckFailed, match="bug_2 is still the text as it was given"):
        refuse_text_as_given(EXERCISES["bug_2"], text)


@pytest.mark.parametrize("name, text", [
    ("bug_2", GIVEN.replace("code - zeros", "code + zeros")),
    ("bug_3", GIVEN),
    ("scaled_dot", GIVEN),
    ("dense_gemv", GIVEN),
])  # fmt: skip
def test_another_text_is_judged(name, text):
    refuse_text_as_given(EXERCISES[name], text)


def test_without_the_workbook_every_text_is_judged(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    refuse_text_as_given(EXERCISES["bug_2"], GIVEN)
