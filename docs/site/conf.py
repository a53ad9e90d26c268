"""The site: the lessons with their outputs, the documents, the reference. `make docs` builds it."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

import gemlite_edu  # noqa: E402

project = html_title = "gemlite_edu"
author = copyright = "gemlite_edu contributors"
release = gemlite_edu.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = [
    *("*.md", "docs/*.md", "docs/site/*.md", "notebooks/*.ipynb", "exercises/*.ipynb"),
    "gemlite_lab/data/small_llama/README.md",
]
html_theme = "furo"
html_copy_source = False
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
default_role = "code"
autodoc_member_order = "groupwise"
_PARAMETERS = re.compile(r"\w+(, \w+)*: ")
_TO_README = '<meta charset="utf-8"><meta http-equiv="refresh" content="0; url=README.html">'


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", mark_parameters)
    app.connect("build-finished", lead_to_readme)


def add_contents(app, name, source):
    """Let README, which is read elsewhere too, be the first page: add the list of all pages."""
    if name == root_doc:
        source[0] += (ROOT / "docs" / "site" / "contents.txt").read_text()


def mark_parameters(app, what, name, obj, options, lines):
    """Write `name: what it is` of our docstrings as a field list, as docutils wants it."""
    marked, is_example = [], False
    for line in lines:
        is_example = line.startswith(">>>") or (is_example and bool(line.strip()))
        if not is_example:
            line = re.sub(r"([*|])", r"\\\1", line)
        begins_field = not is_example and bool(_PARAMETERS.match(line))
        was_field = bool(marked) and marked[-1].startswith((":", " "))
        ends_text = bool(marked) and bool(marked[-1].strip()) and not was_field
        if (begins_field and ends_text) or (was_field and line[:1].strip() and not begins_field):
            marked.append("")
        marked.append(f":{line}" if begins_field else line)
    lines[:] = marked


def lead_to_readme(app, error):
    if error is None:
        Path(app.outdir, "index.html").write_text(_TO_README)
