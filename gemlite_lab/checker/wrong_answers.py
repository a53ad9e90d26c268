"""Wrong answers, stored as edits of right ones: one file per exercise, one entry per answer.

    @@ always_x_0: plain.cu
    mistake: every code of a word meets x[0]: code j meets x[j * WARP_SIZE]
    -    sum += (code - zero) * to_float(x[j * WARP_SIZE]);
    +    sum += (code - zero) * to_float(*x);

The first line names the answer, and the right answer that it edits; without the latter, its + lines
are the whole answer. The second line has the checker's verdict: `mistake:` if only the output shows
the mistake, so that the checker must know its fingerprint, and `message:` for a part of any other
message.

Edits go down the right answer. A line after - removes the next such line, a line after a blank
keeps the next such line, and a line after + is new.
"""

import linecache
import re
from dataclasses import dataclass

_HEAD = re.compile(r"@@ (?P<name>\w+)(?:: (?P<edits>\S+))?")
_KINDS = ("mistake", "message")


@dataclass(frozen=True)
class WrongAnswer:
    """One wrong answer: its text, and the checker's verdict on it.

    kind: "mistake" or "message", the kind of `diagnosis`.
    """

    exercise: str
    name: str
    kind: str
    diagnosis: str
    text: str

    @property
    def is_named_by_its_output(self):
        """True if the checker knows the mistake from the output's fingerprint alone."""
        return self.kind == "mistake"


def wrong_answers_to(exercise, tests):
    """{name: `WrongAnswer`} of this exercise, read from the folder `tests`.

    The edits are in tests/wrong/<exercise>.diff, and the right answers that they edit in
    tests/right/<exercise>. Raises ValueError if an edit does not fit its right answer.
    """
    text, right_answers = (tests / f"wrong/{exercise}.diff").read_text(), tests / "right" / exercise
    entries = re.split(r"^(?=@@ )", text, flags=re.MULTILINE)[1:]
    answers = [_wrong_answer(exercise, entry.splitlines(), right_answers) for entry in entries]
    assert len({answer.name for answer in answers}) == len(answers), f"{exercise}: a name twice"
    return {answer.name: answer for answer in answers}


def _wrong_answer(exercise, lines, right_answers):
    head = _HEAD.fullmatch(lines[0])
    kind, _, diagnosis = lines[1].partition(": ")
    if not head or kind not in _KINDS:
        raise ValueError(f"{exercise}: expected '@@ name: right answer' and a diagnosis, {lines}")
    base = (right_answers / head["edits"]).read_text() if head["edits"] else ""
    try:
        text = _edited(base.splitlines(), lines[2:])
    except ValueError as error:
        where = f"{exercise}, {head['name']}"
        raise ValueError(f"{where} does not edit {head['edits']}: {error}") from None
    return WrongAnswer(exercise, head["name"], kind, diagnosis, text)


def _edited(lines, edits):
    """The text of `lines` after these edits. Raises ValueError if a line is missing."""
    found, at = [], 0
    for edit in filter(None, edits):
        mark, line = edit[0], edit[1:]
        if mark == "+":
            found.append(line)
            continue
        next_one = lines.index(line, at)
        found += lines[at:next_one] + [line] * (mark == " ")
        at = next_one + 1
    return "".join(f"{line}\n" for line in found + lines[at:])


def as_answer(exercise, text, name):
    """An answer as `check` takes it: the text of a CUDA function, or the function in `text`.

    A function is of the module __main__, like one of a notebook's cell; if it were of none, to send
    it to the sandbox would take a search of all modules that are imported.

    name: names the text, so that Triton and tracebacks find its lines.
    """
    if exercise.is_kernel:
        return text
    where, namespace = f"{exercise.name}/{name}.py", {"__name__": "__main__"}
    linecache.cache[where] = len(text), None, text.splitlines(keepends=True), where
    exec(compile(text, where, "exec"), namespace)
    return namespace[exercise.name]
