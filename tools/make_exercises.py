"""Make exercises/ from solutions/: a stub replaces each solution region, and outputs are removed.

    python tools/make_exercises.py [FOLDER]

A region lies between `### BEGIN SOLUTION` and `### END SOLUTION` (in CUDA text behind `//`). The
stub is a comment to Python and an error to a C++ compiler. A cell with the tag "solution-only" is
removed as a whole: it repairs a text that the learner repairs in place.
"""

import sys
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from refresh_notebooks import ROOT, text_of
from traitlets.config import Config

from gemlite_lab.checker import STUB_MARK

_PREPROCESSORS = [
    "nbconvert.preprocessors.TagRemovePreprocessor",
    "nbgrader.preprocessors.ClearSolutions",
    "nbconvert.preprocessors.ClearOutputPreprocessor",
]


def exercise_of(solution):
    """The text of the exercise notebook for the solution notebook at `solution`."""
    config = Config()
    config.NotebookExporter.preprocessors = _PREPROCESSORS
    config.TagRemovePreprocessor.remove_cell_tags = {"solution-only"}
    config.ClearSolutions.enforce_metadata = False
    config.ClearSolutions.code_stub = {"python": f"#error {STUB_MARK}"}
    text, _ = NotebookExporter(config=config).from_filename(str(solution))
    return text_of(nbformat.reads(text, as_version=4))


def main(folder):
    folder.mkdir(exist_ok=True)
    for solution in sorted(ROOT.glob("solutions/*.ipynb")):
        (folder / solution.name).write_text(exercise_of(solution))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "exercises")
