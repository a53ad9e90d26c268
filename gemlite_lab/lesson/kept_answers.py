"""The texts of the answers that `check` accepted, for `assemble`: one file per exercise.

They lie in the folder `answers` beside the record, so in work/answers/ of the workbook.
"""

from gemlite_lab.lesson.record import place_beside

_FOLDER = "answers"


def keep_answer(name, text, suffix):
    """Keep `text` as the learner's answer to exercise `name`, in place of an earlier one.

    suffix: ".cu" or ".py". Outside a workbook nothing is kept.
    """
    path = _path(name, suffix)
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def kept_answer(name, suffix):
    """The text of the last accepted answer to exercise `name`, or None."""
    path = _path(name, suffix)
    return path.read_text(encoding="utf-8") if path and path.exists() else None


def _path(name, suffix):
    folder = place_beside(_FOLDER)
    return folder / f"{name}{suffix}" if folder else None
