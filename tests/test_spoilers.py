"""Whoever reads a lesson from the top meets no answer before its prediction is revealed.

The answers are the numbers that `reveal` prints in the committed outputs. A number of the lesson
says an answer if it equals it, or, for answers of two digits or more, if it has more decimals and
rounds to it. Where such a number counts depends on how often it would stand there by chance:

- an answer with a decimal point or three digits: anywhere above the reveal,
- an answer of two digits: from its prediction on,
- of one digit, or a power of two: from its prediction on, in what a cell prints, if it has a
  decimal point there ("2.0").

A cell that reveals shows nothing before: its `reveal` stops whoever has not guessed, but not what
stands above it.

Not judged are 0 and 1, whole numbers that the question names after "predict" (... of the 384),
words ("twice"), pictures, other lessons, and cells whose output depends on the machine. A number
that stands there by chance is cured by one digit more or less in the reveal.
"""

import ast
import re
from collections import namedtuple
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

ROOT = Path(__file__).parent.parent
_NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?=[fx%]?(?!\w))")
_FORMAT = re.compile(r":[<>^+,]?\d*,?(?:\.\d+)?[defg%]\}")

_SHOWS = re.compile(r"print|show|display|play|read_\w+|draw\.(?!owners)\w+")

Piece = namedtuple("Piece", "cell kind text")  # kind: "prose", "code" or "printed"


def numbers(text):
    """
    >>> numbers("1,536 of 2.0x, 0x64, {a:5.1f}, v2, 1.5f and 2.1e-04.")
    ['1536', '2.0', '1.5', '2.1e-04']
    """
    return [found.replace(",", "") for found in _NUMBER.findall(_FORMAT.sub("}", text))]


def digits(number):
    return len(number.replace(".", "").lstrip("0"))


def decimals(number):
    return len(number.partition(".")[2])


def says(number, answer):
    if float(number) == float(answer):
        return True
    finer = decimals(number) > decimals(answer) and "e" not in number
    return finer and digits(answer) > 1 and round(float(number), decimals(answer)) == float(answer)


def is_judged(answer, question):
    return answer not in ("0", "1") and ("." in answer or answer not in numbers(question))


def counts(number, answer, piece, predicted_in):
    """Whether `number`, which says `answer`, gives it away where it stands."""
    is_small = answer.isdigit() and (len(answer) == 1 or not int(answer) & (int(answer) - 1))
    if not is_small and ("." in answer or len(answer) > 2):
        return True
    if piece.cell < predicted_in:
        return False
    return not is_small or (piece.kind == "printed" and "." in number)


def calls(cell, function):
    """{name of the prediction: last line of the call} of `predict` or `reveal` in a cell."""
    nodes = ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else []
    found = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == function]
    return {ast.literal_eval(call.args[0]): call.end_lineno for call in found}


def printed(cell):
    """The text that running the cell shows."""
    shown = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        shown += [output.get("text", ""), data.get("text/markdown", "")]
    return "".join(shown)


def spoilers(cells):
    """{prediction: where its answer can be read above its reveal} of one lesson."""
    above, predicted, question, found = [], {}, "", {}
    for at, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            question = cell.source.lower().partition("predict")[2]
            above.append(Piece(at, "prose", cell.source))
            continue
        for what in calls(cell, "predict"):
            predicted[what] = at, question + what
        out = printed(cell)
        for what, line in calls(cell, "reveal").items():
            found[what] = ["its own cell predicts"] * bool(calls(cell, "predict"))
            shown = re.search(rf"^{re.escape(what)}: it is ([^;\s]+)", out, re.MULTILINE)
            if shown and is_judged(shown[1], predicted[what][1]):
                code = "\n".join(cell.source.splitlines()[:line])
                own = Piece(at, "code", code), Piece(at, "printed", out[: shown.start()])
                found[what] += said(shown[1], [*above, *own], predicted[what][0])
        above += [Piece(at, "code", cell.source), Piece(at, "printed", out)]
    return {what: places for what, places in found.items() if places}


def said(answer, pieces, predicted_in):
    """The lines of `pieces` that give `answer` away; what other reveals print is none of them."""
    return [
        f"cell {piece.cell}, {piece.kind}: {line.strip()}"
        for piece in pieces
        for line in piece.text.splitlines()
        if ": it is " not in line
        for number in numbers(line)
        if says(number, answer) and counts(number, answer, piece, predicted_in)
    ]


def cells_of(path):
    return nbformat.read(path, as_version=4).cells


LESSONS = {path.stem: cells_of(path) for path in sorted(ROOT.glob("notebooks/*.ipynb"))}


def test_no_answer_can_be_read_above_its_reveal():
    found = {}
    for lesson, cells in LESSONS.items():
        found |= {what: (lesson, places) for what, places in spoilers(cells).items()}
    assert found == {}


def test_each_prediction_has_a_name_of_its_own_and_is_revealed_below():
    """By their names guesses are kept, for all lessons together."""
    names = [
        what for cells in LESSONS.values() for cell in cells for what in calls(cell, "predict")
    ]
    assert len(names) == len(set(names))
    for cells in LESSONS.values():
        asked = []
        for cell in cells:
            asked += calls(cell, "predict")
            assert calls(cell, "reveal").keys() <= set(asked)


def shown_above_reveal(cell):
    """The first lines of the statements that show something above the first `reveal` of a cell."""
    statements = ast.parse(cell.source).body if cell.cell_type == "code" else []
    reveals = [at for at, s in enumerate(statements) if "reveal" in called(s)]
    above = statements[: reveals[0]] if reveals else []
    return [ast.unparse(s).split("\n")[0] for s in above if any(map(_SHOWS.fullmatch, called(s)))]


def called(statement):
    """The functions that running a statement calls; those of a function that it defines wait."""
    if isinstance(statement, ast.FunctionDef):
        return set()
    return {ast.unparse(n.func) for n in ast.walk(statement) if isinstance(n, ast.Call)}


def test_a_cell_that_reveals_shows_nothing_before():
    found = {
        f"{name}, cell {at}": shown
        for name, cells in LESSONS.items()
        for at, cell in enumerate(cells)
        if (shown := shown_above_reveal(cell))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source, shown",
    [
        ('print(x)\nreveal("it", x)', ["print(x)"]),
        ('draw.steps(x)\nreveal("it", x)', ["draw.steps(x)"]),
        ('for i in x:\n    print(i)\nreveal("it", x)', ["for i in x:"]),
        ('reveal("it", x)\nprint(x)', []),
        ('def f():\n    print(x)\n\n\nreveal("it", x)', []),
        ("print(x)", []),
    ],
)
def test_what_is_shown_above_a_reveal_is_found(source, shown):
    assert shown_above_reveal(new_code_cell(source)) == shown


def lesson(*cells):
    """Cells: prose is a string, code a pair of its source and what it prints."""
    return [
        new_markdown_cell(cell)
        if isinstance(cell, str)
        else new_code_cell(cell[0], outputs=[new_output("stream", name="stdout", text=cell[1])])
        for cell in cells
    ]


ASK = 'predict("it", None)', "it: put your number in place of None, then run this cell again\n"


def revealed(answer, before=""):
    return 'reveal("it", measured)', f"{before}it: it is {answer}\n"


@pytest.mark.parametrize(
    "cells, place",
    [
        (["It moves 2,408 bytes. **Predict** them.", ASK, revealed("2408")], "cell 0, prose"),
        (["**Predict:** is it 3.96?", ASK, revealed("3.96")], "cell 0, prose"),
        ([("x = 3.96  # the answer", ""), ASK, revealed("3.96")], "cell 0, code"),
        ([('text = """a * 3.96f"""', ""), ASK, revealed("3.96")], "cell 0, code"),
        ([("print(x)", "K = 64: 3.958 times\n"), ASK, revealed("3.96")], "cell 0, printed"),
        ([ASK, revealed("53", before="M = 17: 53% used\n")], "cell 1, printed"),
        ([ASK, ("print(x)", "became 0: 23.7%\n"), revealed("24")], "cell 1, printed"),
        ([ASK, ("print(x)", "loads: 8.0\n"), revealed("8")], "cell 1, printed"),
        ([ASK, ('reveal("it", 3.96)', "it: it is 3.96\n")], "cell 1, code"),
        (
            [('predict("it", None)\nreveal("it", x)', "it: put\nit: it is 7\n")],
            "its own cell predicts",
        ),
    ],
)
def test_a_spoiler_is_found(cells, place):
    found = spoilers(lesson(*cells))
    assert found.keys() == {"it"}
    (said,) = found["it"]
    assert said.startswith(place)


@pytest.mark.parametrize(
    "cells",
    [
        [ASK, revealed("3.96"), "It is 3.96: nearly 4."],
        ["Predict: how many of the 384?", ASK, revealed("384")],
        ["Blocks of 53.", ASK, revealed("53")],
        ["It moves 2 words.", ASK, ("for i in range(2): f(i)", "2 words"), revealed("2")],
        [ASK, ("print(x)", "1.0 0.0\n"), revealed("1")],
        [ASK, ('print(f"{x:5.1f}")', "5.14e-04\n"), revealed("5.1")],
        [ASK, ("print(x)", "-0.46\n"), revealed("0.5")],
        [ASK, ('reveal("it", x)\ny = 3.96', "it: it is 3.96\n")],
    ],
)
def test_what_stands_there_by_chance_or_below_is_no_spoiler(cells):
    assert spoilers(lesson(*cells)) == {}
