"""Fingerprint the wrong answers in tests/wrong; run this after changing them or a case.

    python tools/fingerprint_mistakes.py [EXERCISE ...]

It runs each wrong answer with a `mistake:` and stores the fingerprints of its wrong outputs in the
checker, which recognizes the mistake by them from then on.
"""

import json
import sys
from pathlib import Path

from gemlite_edu.runners.interpreter.watched import doubts_postponed
from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.compare import compare
from gemlite_lab.checker.exercise import clone
from gemlite_lab.checker.fingerprints import FOLDER, fingerprint, path_of
from gemlite_lab.checker.runnable import runnable
from gemlite_lab.checker.wrong_answers import as_answer, wrong_answers_to

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"


def fingerprints_of(exercise):
    """{mistake: fingerprints} of the wrong answers to an exercise.

    A fingerprint names one mistake: that of the answer which it rejects, or else of the only
    mistake that has it. Raises ValueError if it rejects answers with two mistakes.
    """
    rejecting, further = {}, {}
    for wrong in wrong_answers_to(exercise.name, TESTS).values():
        if not wrong.is_named_by_its_output:
            continue
        with runnable(exercise, as_answer(exercise, wrong.text, wrong.name)) as answer:
            texts = _wrong_outputs(exercise, answer)
        if not texts:
            raise ValueError(f"{wrong.name} is right in every case")
        first, *others = texts
        if rejecting.setdefault(first, wrong.diagnosis) != wrong.diagnosis:
            raise ValueError(f"{wrong.name} has the very output of {rejecting[first]!r}")
        for text in others:
            further.setdefault(text, set()).add(wrong.diagnosis)
    telling = {text: mistakes.pop() for text, mistakes in further.items() if len(mistakes) == 1}
    found = {}
    for text, mistake in sorted((telling | rejecting).items()):
        found.setdefault(mistake, []).append(text)
    return dict(sorted(found.items()))


def _wrong_outputs(exercise, answer):
    """Fingerprints of the wrong outputs of an answer: of the first one, and of later exact ones.

    An answer that fails in another way in a later case gives no fingerprint there, and none gives a
    later one in a case that is not telling.
    """
    found = []
    for case in exercise.cases():
        expected, bound = exercise.expected(case)
        if found and (bound is not None or not getattr(case, "is_telling", True)):
            continue
        try:
            with doubts_postponed():
                output = exercise.run(answer, clone(case), "cpu")
        except Exception:
            if not found:
                raise
            continue
        is_wrong = compare(exercise.output, output, expected, bound, exercise.dtype)
        if is_wrong and getattr(output, "shape", None) == expected.shape:
            found.append(fingerprint(exercise, case, output))
    return found


def text_of(found):
    """JSON with one line per mistake."""
    lines = (f"{json.dumps(mistake)}: {json.dumps(texts)}" for mistake, texts in found.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(names):
    if not FOLDER.resolve().is_relative_to(ROOT):
        sys.exit(f"this would write into {FOLDER}, of another checkout: set PYTHONPATH={ROOT}")
    FOLDER.mkdir(exist_ok=True)
    for name in names or EXERCISES:
        found = fingerprints_of(EXERCISES[name])
        path_of(name).write_text(text_of(found))
        print(f"{name}: {len(found)} mistakes, {sum(map(len, found.values()))} fingerprints")


if __name__ == "__main__":
    main(sys.argv[1:])
