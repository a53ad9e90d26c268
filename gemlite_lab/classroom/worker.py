"""The process that judges answers, one after the other, until its input ends.

    python -m gemlite_lab.classroom.worker REQUESTS REPLIES

Both are descriptors of pipes; a request and its reply are a line of JSON each. No text of a
student's runs in this process: Python answers run in the sandbox, kernels in the simulator. So what
it replies is what the checker found, whatever an answer prints or changes.
"""

import json
import os
import re
import sys
from contextlib import redirect_stdout
from functools import lru_cache
from io import StringIO
from pathlib import Path

from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_lab.checker.check import EXERCISES, CheckFailed, judge
from gemlite_lab.classroom.answers import NoAnswer, answer_in, cells_of, defining_text

_MOST_SAID = 4000
_SEED = re.compile(r", seed \d+")


def serve(requests, replies):
    """Answer each request, {"paths", "exercise", "variable", "seed"}."""
    replies.write("ready\n")
    replies.flush()
    for line in requests:
        is_right, said = _judged(**json.loads(line))
        said = _SEED.sub(", hidden case", "".join(filter(_is_text, said[:_MOST_SAID])))
        replies.write(json.dumps({"is_right": is_right, "said": said}) + "\n")
        replies.flush()


def _is_text(character):
    return character.isprintable() or character == "\n"


def _judged(paths, exercise, variable, seed):
    """(whether the answer is right, what to tell the student)."""
    try:
        name, text = _find(paths, variable)
        answer = answer_in(text, variable, EXERCISES[exercise])
        with redirect_stdout(StringIO()):
            judge(EXERCISES[exercise], answer, seed)
        return True, f"right ({name})"
    except (NoAnswer, CheckFailed, KernelFault, KernelTextError) as error:
        return False, str(error)
    except Exception as error:
        return False, f"the check itself failed, so look at it: {type(error).__name__}: {error}"


def _find(paths, variable):
    """(notebook, text) of the first notebook that defines the variable."""
    problems = []
    for path in paths:
        try:
            text = defining_text(_cells(path), variable)
        except NoAnswer as error:
            problems.append(str(error))
            continue
        if text:
            return Path(path).name, text
    problems.append(f"no cell of {', '.join(Path(p).name for p in paths)} defines {variable}")
    raise NoAnswer(problems[0])


@lru_cache(8)
def _cells(path):
    return cells_of(Path(path))


if __name__ == "__main__":
    to_read, to_write = map(int, sys.argv[1:])
    with os.fdopen(to_read, encoding="utf-8") as requests, os.fdopen(to_write, "w") as replies:
        serve(requests, replies)
