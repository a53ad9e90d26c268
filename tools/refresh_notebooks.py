"""Execute notebooks and write them back in canonical form.

    python tools/refresh_notebooks.py [notebooks/00_start_here.ipynb ...]

Without names it takes every notebook in notebooks/ and solutions/.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def canonical(notebook):
    """`notebook` without the parts that depend on who saved it: ids, metadata, machine output."""
    notebook = nbformat.from_dict(notebook)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(_METADATA)
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"
        cell.metadata = {k: v for k, v in cell.metadata.items() if k == "tags"}
        if cell.cell_type == "code" and cell.execution_count is not None:
            count += 1
            cell.execution_count = count
            is_of_this_machine = "nbval-ignore-output" in cell.metadata.get("tags", [])
            cell.outputs = [] if is_of_this_machine else _merged(cell.outputs)
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    return notebook


def _merged(outputs):
    """`outputs` with neighbouring pieces of one stream joined, because chance cuts them."""
    joined = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            last["text"] += output.text
        else:
            joined.append(output)
    return joined


def text_of(notebook):
    """The text of the file that holds `notebook`."""
    return nbformat.writes(canonical(notebook)) + "\n"


def refresh(path):
    """Execute the notebook at `path` in its folder; raise if a cell raises an error."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    path.write_text(text_of(notebook))


def lessons():
    """Paths of the notebooks whose outputs are committed."""
    return sorted([*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("solutions/*.ipynb")])


def main(names):
    paths = [Path(name) for name in names]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GEMLITE_EDU_PROGRESS"] = f"{folder}/progress.json"
        os.environ["GEMLITE_EDU_NVCC_BESIDE"] = "off"  # its note depends on the machine
        os.environ["GEMLITE_EDU_PREDICTIONS"] = "pass"
        os.environ["GEMLITE_EDU_PIECES"] = "ours"
        for path in paths or lessons():
            refresh(path)
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
