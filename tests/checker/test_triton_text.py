"""What a Triton answer may not say, because its interpreter and a GPU would not do the same."""

import ast
from pathlib import Path

import pytest
import triton
import triton.language as tl

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_lab.checker import EXERCISES, triton_language
from gemlite_lab.checker.check import check
from gemlite_lab.checker.triton_text import refuse_foreign, refuse_in_right_ones

HERE = Path(__file__).parent
TRITON = [name for name in EXERCISES if EXERCISES[name].is_triton]
FRAUDS = (HERE / "triton_frauds.txt").read_text().splitlines()
HEAD = "def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):\n"
RIGHT = "    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)\n"
PLACES = (  # where a text may ask what a GPU would not say
    "    x = {}\n",
    "    words = words + ({})\n",
    "    if {}:\n        words = words * 0\n",
    "    if NBITS == 3:\n        return tl.where({}, words, 0)\n",
)
STATEMENTS = (
    "    try:\n        words.handle\n    except Exception:\n        words = 0\n",
    "    while True:\n        break\n",
    "    for i in (1, 2):\n        pass\n",
    "    for i in range(2):\n        continue\n",
    "    for i in range(2):\n        pass\n    else:\n        words = 0\n",
    "    for i in range(3):\n        pass\n    words = words >> i\n",
    "    i = 5\n    for i in tl.range(3):\n        pass\n    words = words >> i\n",
    "    i = 0\n    for j in range(2):\n        words += i\n        for i in range(3):\n"
    "            words += i\n",
    "    x = words and 1\n",
    "    x = NBITS or words\n",
    "    words = words >> (field and NBITS)\n",
    "    words = words >> (NBITS * (field or 1))\n",
    "    for i in range(3):\n        words += ~(i < 2)\n",
    "    for i in tl.range(3):\n        words += (i < 2) + (i == NBITS)\n",
    "    import sys\n",
    "    from sys import path\n",
    "    global seen\n    seen = 1\n",
    "    del words\n",
    "    raise ValueError\n",
    "    with words:\n        pass\n",
    "    class A:\n        pass\n",
    "    def inner():\n        return 1\n",
    "    words.handle = 1\n",
    "    words[0] = 1\n",
    "    tl.load = 1\n",
    "    tl = 1\n",
    "    range = 1\n",
    "    print = words\n",
    "    a, *b = words.shape\n",
    "    match NBITS:\n        case 1:\n            pass\n",
    "    if field == 0 and tl.load(words) > 0:\n        words = 0\n",
    "    async def inner():\n        pass\n",
    '    """\ndef unpack_tile(words, field, NBITS):\n    return words  # """\n',
)
HEADS = (
    "def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr, seen=[]):\n",
    "def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr, of=dict()):\n",
    "def unpack_tile(*words):\n",
    "def unpack_tile(words, *, field: tl.constexpr, NBITS: tl.constexpr):\n",
    "def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr, **more):\n",
    "def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr, range=3):\n",
)


def sentence_on(text):
    with pytest.raises(KernelTextError) as caught:
        refuse_foreign("unpack_tile", text)
    return str(caught.value)


@pytest.mark.parametrize("fraud", FRAUDS)
def test_what_a_gpu_does_not_know_is_refused_wherever_it_stands(fraud):
    for place in PLACES:
        sentence = sentence_on(HEAD + place.format(fraud) + RIGHT)
        assert sentence.startswith("unpack_tile, line ") and "\n" not in sentence


@pytest.mark.parametrize("fraud", STATEMENTS)
def test_a_statement_that_differs_is_refused(fraud):
    sentence_on(HEAD + fraud + RIGHT)


@pytest.mark.parametrize("head", HEADS)
def test_an_argument_that_differs_is_refused(head):
    sentence_on(head + RIGHT)


def functions_in(text):
    """The text of each function in a file."""
    lines = text.splitlines()
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return ["\n".join(lines[f.lineno - 1 : f.end_lineno]) for f in functions]


@pytest.mark.parametrize("name", TRITON)
def test_right_answers_are_taken(name):
    for path in (HERE.parent / "right" / name).glob("*.py"):
        for text in functions_in(path.read_text()):
            refuse_foreign(name, text)


def test_what_triton_teaches_is_taken():
    for text in functions_in((HERE / "triton_course.py").read_text()):
        refuse_foreign("a kernel", text)


def test_the_words_are_those_of_triton():
    assert all(hasattr(tl, word) for word in triton_language.TYPES | triton_language.FUNCTIONS)
    assert all(hasattr(tl.math, word) for word in triton_language.MATH)
    known = set(dir(tl.tensor)) | set(dir(tl.dtype)) | set(dir(tl.pointer_type(tl.int8)))
    assert triton_language.METHODS <= known
    assert all(hasattr(triton, word) for word in triton_language.MODULES["triton"])


def test_a_text_that_the_function_only_claims_to_have_is_not_read():
    def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
        return (words.handle >> (NBITS * field)) & ((1 << NBITS) - 1)

    def right(words, field: tl.constexpr, NBITS: tl.constexpr):
        return (words >> (NBITS * field)) & ((1 << NBITS) - 1)

    unpack_tile.__wrapped__ = right
    with pytest.raises(KernelTextError, match="^unpack_tile, line 2: `.handle` is no word"):
        check("unpack_tile", unpack_tile)


def test_assembly_is_refused_with_what_to_do():
    sentence = sentence_on(HEAD + "    tl.inline_asm_elementwise(words)\n" + RIGHT)
    assert "interpreter cannot run assembly: write it in Triton's own operations" in sentence


def printing(words, field: tl.constexpr, NBITS: tl.constexpr):
    if field == 0:
        print(words)
    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)


def test_a_print_helps_until_the_answer_is_right(capsys):
    with pytest.raises(KernelTextError) as caught:
        check("unpack_tile", printing)
    assert str(caught.value).startswith(
        "unpack_tile, line 3: this print helps here, but on a GPU a print begins with a text: "
        'remove it, or write tl.device_print("words: ", words), at '
    )
    assert capsys.readouterr().out.startswith("[[")


@pytest.mark.parametrize(
    "quotient",
    [
        "(words / GROUP).to(tl.int32)",
        "tl.floor(field / words)",
        "tl.cast(tl.fdiv(words.to(tl.float32), 3.0) + 0.5, tl.int32)",
        "int(field / words)",
        "words / 3 // 1",
    ],
)
def test_a_whole_number_of_an_inexact_quotient_is_refused(quotient):
    text = HEAD + f"    GROUP = 3\n    group = {quotient}\n" + RIGHT
    with pytest.raises(KernelTextError, match="may be one too small: divide whole numbers with //"):
        refuse_in_right_ones("unpack_tile", text)


def test_a_quotient_that_gets_a_name_first_is_refused_too():
    text = HEAD + "    q = words / 3\n    group = q.to(tl.int32)\n" + RIGHT
    with pytest.raises(
        KernelTextError, match=r"may be one too small.*at `group = q.to\(tl.int32\)`"
    ):
        refuse_in_right_ones("unpack_tile", text)


@pytest.mark.parametrize(
    "quotient", ["words / 3", "words // 3", "int(NBITS / 2)", "(words * (1 / NBITS)).to(tl.int32)"]
)
def test_other_quotients_may_stay(quotient):
    refuse_in_right_ones("unpack_tile", HEAD + f"    group = {quotient}\n" + RIGHT)


def test_a_print_that_a_gpu_knows_may_stay():
    for call in ('print("words: ", words)', 'tl.device_print("words", words)', 'print(f"{field}")'):
        text = HEAD + f"    {call}\n" + RIGHT
        refuse_foreign("unpack_tile", text)
        refuse_in_right_ones("unpack_tile", text)
