"""An answer that is wrong for one usual size alone fails in every check."""

from pathlib import Path

import pytest

from gemlite_lab.checker import EXERCISES, CheckFailed, check
from gemlite_lab.checker.usual_sizes import usual_sizes
from gemlite_lab.checker.wrong_answers import as_answer

RIGHT = Path(__file__).parent.parent / "right"
WRONG_FOR = """

def {name}(*arguments):
    result = right(*arguments)
    words = result[0] if isinstance(result, tuple) else result
    words[words.shape[{axis}] == {size}] ^= 1
    return result
"""


def test_every_usual_size_is_there_and_none_is_large():
    for seed in range(20):
        sizes = usual_sizes(seed)
        assert {K for _, K in sizes} >= {2**e for e in range(6, 15)}
        assert {N for N, _ in sizes} >= {2**e for e in range(6, 13)}
        assert max(N * K for N, K in sizes) == 2**16


@pytest.mark.parametrize(
    "name, axis, size",
    [
        ("pack", 0, 64),
        ("unpack", 1, 4096),
        ("pack_sparse", 0, 128),
        ("quantize_tokens", 1, 4096),
        ("mxfp4_encode", 0, 256),
    ],
)
def test_an_answer_that_is_wrong_for_one_usual_size_fails(name, axis, size):
    text = (RIGHT / name / "plain.py").read_text().replace(f"def {name}(", "def right(")
    text += WRONG_FOR.format(name=name, axis=axis, size=size)
    with pytest.raises(CheckFailed, match=f"{'NK'[axis]} = {size}|{size} tokens"):
        check(name, as_answer(EXERCISES[name], text, "usual"))
