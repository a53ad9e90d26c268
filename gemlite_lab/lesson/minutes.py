"""How many minutes a lesson takes: by a rule, and as its first cell states."""

import json
import math
import re
from dataclasses import dataclass

WORDS_A_MINUTE = 150
SECONDS_A_CODE_LINE = 6
SECONDS_A_PRINTED_LINE = 3
MINUTES_A_PICTURE = 1
MINUTES_A_PREDICTION = 2
MINUTES_A_RECALL_QUESTION = 1


@dataclass(frozen=True)
class Stated:
    """The minutes that a lesson states for itself and for its exercises, 0 if it has none."""

    lesson: int
    exercises: int


def minutes_by_rule(cells):
    """Minutes for a lesson's executed `cells`, rounded up to a multiple of 5.

    A reader takes 150 words of technical prose a minute, 6 seconds for a line of code, be it in a
    cell or shown from a file, 3 seconds for a printed line, and a minute for a picture, 2 minutes
    for a prediction and 1 for a recall question. Empty lines and targets of links take no time.
    Exercises are not in it: each states minutes of its own.
    """
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    shown = [text for output in outputs if (text := _data(output, "text/markdown"))]
    printed = [_text(output["text"]) for output in outputs if output["output_type"] == "stream"]
    sources = [_text(cell["source"]) for cell in code]
    minutes = (
        sum(map(_words, prose_cells(cells))) / WORDS_A_MINUTE
        + sum(map(_lines, [*sources, *shown])) * SECONDS_A_CODE_LINE / 60
        + sum(map(_lines, printed)) * SECONDS_A_PRINTED_LINE / 60
        + sum("image/png" in output.get("data", {}) for output in outputs) * MINUTES_A_PICTURE
        + predictions(cells) * MINUTES_A_PREDICTION
        + sum(source.count("recall(") for source in sources) * MINUTES_A_RECALL_QUESTION
    )
    return math.ceil(minutes / 5) * 5


def predictions(cells):
    """How many predictions the `cells` ask for."""
    code = [_text(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return sum(len(re.findall(r"^predict\(", source, re.MULTILINE)) for source in code)


def prose_cells(cells):
    """The texts of the Markdown cells."""
    return [_text(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def stated_minutes(cells):
    """What the first cell states: "**45 minutes, and 15 for the exercise.**"."""
    first = prose_cells(cells)[0]
    found = re.search(r"\*\*(\d+) minutes(?:, and (\d+) for the exercises?)?\.\*\*", first)
    if found is None:
        raise ValueError(
            'the first cell must state "**45 minutes.**", or "**45 minutes, and 15 for the '
            f'exercises.**", got {first[:80]!r}'
        )
    return Stated(*[int(number or 0) for number in found.groups()])


def read_cells(path):
    """The cells of the notebook at `path`."""
    return json.loads(path.read_text())["cells"]


def _words(text):
    return len(re.sub(r"\]\([^)]*\)", "]", text).split())


def _lines(text):
    return sum(1 for line in text.splitlines() if line.strip())


def _data(output, kind):
    return _text(output.get("data", {}).get(kind, ""))


def _text(source):
    """A text that a notebook keeps as one string or as a list of its lines."""
    return source if isinstance(source, str) else "".join(source)
