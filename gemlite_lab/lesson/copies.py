"""The learner's copies: work/ gets each lesson without its outputs, and beside it its exercises.

From notebooks/05_x.ipynb comes work/05_x.ipynb, from exercises/05_x.ipynb comes
work/05_x_exercises.ipynb, and links lead from copy to copy. What is in work/ belongs to the
learner: nothing is ever written over it.

A copy has the mark _MARK in its metadata. `make lab` used to copy the exercises alone, under their
lesson's name: a notebook without the mark under that name is such a one, so it is renamed to
05_x_exercises.ipynb, unless there is one already. Then all stays as it is.
"""

import json
import re

_MARK = "gemlite_edu_copy"


def originals(root):
    """{name of the copy, without .ipynb: path of the notebook that it is made from}, in order."""
    lessons = {path.stem: path for path in root.glob("notebooks/*.ipynb")}
    exercises = {f"{path.stem}_exercises": path for path in root.glob("exercises/*.ipynb")}
    return dict(sorted((lessons | exercises).items()))


def text_of_copy(path):
    """The text of a fresh copy of the notebook at `path`, a lesson or exercises."""
    notebook = json.loads(path.read_text())
    notebook["metadata"][_MARK] = True
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
        else:
            cell["source"] = [_with_links_between_copies(line) for line in cell["source"]]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _with_links_between_copies(markdown):
    """
    >>> _with_links_between_copies("[a](../notebooks/a.ipynb), [its exercises](../work/a.ipynb)")
    '[a](a.ipynb), [its exercises](a_exercises.ipynb)'
    """
    markdown = re.sub(r"\]\(\.\./notebooks/(\w+)\.ipynb", r"](\1.ipynb", markdown)
    return re.sub(r"\]\(\.\./(?:work|exercises)/(\w+)\.ipynb", r"](\1_exercises.ipynb", markdown)


def copy_new(root):
    """Put into work/ what it lacks; return sentences on what was renamed."""
    work = root / "work"
    work.mkdir(exist_ok=True)
    renamed = [_rename_old_exercises(work, path.stem) for path in root.glob("exercises/*.ipynb")]
    for name, path in originals(root).items():
        copy = work / f"{name}.ipynb"
        if not copy.exists():
            with copy.open("x") as file:
                file.write(text_of_copy(path))
    return [sentence for sentence in renamed if sentence]


def _rename_old_exercises(work, lesson):
    old, new = work / f"{lesson}.ipynb", work / f"{lesson}_exercises.ipynb"
    if not old.exists() or new.exists() or _is_copy(old):
        return None
    old.rename(new)
    return (
        f"Your exercises in work/{old.name} are in work/{new.name} now: {old.name} is the lesson."
    )


def _is_copy(path):
    try:
        return _MARK in json.loads(path.read_text())["metadata"]
    except (KeyError, TypeError, ValueError):
        return False
