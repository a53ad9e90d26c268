import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT / "tools")]

import fingerprint_mistakes  # noqa: E402

from gemlite_lab.checker import EXERCISES  # noqa: E402
from gemlite_lab.checker.fingerprints import path_of  # noqa: E402

PACK = EXERCISES["pack"]


@pytest.fixture(scope="module")
def as_committed():
    return fingerprint_mistakes.fingerprints_of(PACK)


@pytest.fixture
def fingerprints_with(monkeypatch, tmp_path):
    """The fingerprints of pack with one more wrong answer."""

    def found(entry):
        (tmp_path / "wrong").mkdir(exist_ok=True)
        text = (ROOT / "tests" / "wrong" / "pack.diff").read_text()
        (tmp_path / "wrong" / "pack.diff").write_text(f"{text}\n{entry}")
        (tmp_path / "right").symlink_to(ROOT / "tests" / "right")
        monkeypatch.setattr(fingerprint_mistakes, "TESTS", tmp_path)
        return fingerprint_mistakes.fingerprints_of(PACK)

    return found


def test_what_is_committed_is_what_the_tool_makes(as_committed):
    assert path_of("pack").read_text() == fingerprint_mistakes.text_of(as_committed)


def test_a_new_mistake_is_one_entry_and_leaves_the_others(fingerprints_with, as_committed):
    negated = "@@ negated: plain.py\nmistake: it is negated\n-    return words.reshape(N, -1)\n"
    found = fingerprints_with(f"{negated}+    return -words.reshape(N, -1)\n")
    codes = [(case.nbits, case.W_q) for case in PACK.cases() if case.W_q.any()]  # -0 is 0
    different = {(nbits, W_q.shape, W_q.numpy().tobytes()) for nbits, W_q in codes}
    assert len(found.pop("it is negated")) == len(different)
    assert found == as_committed


def test_two_names_for_one_mistake_are_refused(fingerprints_with):
    words = "    words = torch.zeros_like(fields[:, :, 0])\n"
    far = f"@@ far: plain.py\nmistake: another name\n {words[:-1]}\n"
    shift = "        words |= fields[:, :, j] << (32 - nbits * (j + 1))\n"
    wrong = shift.replace("(j + 1)", "j")
    with pytest.raises(ValueError, match=r"has the very output of 'the shift is 32 - nbits \* j,"):
        fingerprints_with(f"{far}-{shift}+{wrong}")


def test_a_right_answer_is_no_mistake(fingerprints_with):
    with pytest.raises(ValueError, match="renamed is right in every case"):
        fingerprints_with("@@ renamed: plain.py\nmistake: none\n+import math\n")
