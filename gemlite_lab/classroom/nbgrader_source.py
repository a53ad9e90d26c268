"""The exercises as nbgrader takes them: notebooks with metadata, a header, and a configuration.

The metadata are those of nbgrader's schema 3 (https://nbgrader.readthedocs.io). A cell with a
solution region is a solution cell, a cell with a check is a locked cell of tests that is worth the
exercise's points, and its hidden part checks once more, with a seed of the teacher's. What is left
in the release equals the notebook in exercises/.
"""

import re

import nbformat

CONFIG = '''\
"""nbgrader's configuration for this course; see docs/classroom.md."""

c = get_config()
c.CourseDirectory.course_id = "gemlite_edu"
c.IncludeHeaderFooter.header = "source/header.ipynb"
c.ClearSolutions.code_stub = {"python": "#error YOUR CODE HERE"}
c.ExecutePreprocessor.timeout = 300
'''
_HEADER = """\
Your name:

Leave the names of functions and kernels as they are. An answer may use what your cells import,
define and assign; nothing else of them runs. Your answers are checked again after you hand them in,
each by its name, on numbers that this notebook has not shown."""
_REGION = "### BEGIN SOLUTION"
_CHECK = re.compile(r'^check\("(\w+)", (\w+)\).*$', re.MULTILINE)


def header():
    """The notebook that nbgrader puts before each other one."""
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell(_HEADER, id="header")], metadata=_python()
    )


def source_of(solution, unit, seed_of):
    """The notebook for nbgrader's folder source, from our solved one.

    solution: the notebook. unit: its `Unit`. seed_of(task) -> the seed of the hidden check.
    """
    tasks = {task.name: task for task in unit.tasks}
    cells = []
    for cell in solution.cells:
        if "solution-only" not in cell.metadata.get("tags", []):
            cells += _cells_of(cell, tasks, seed_of)
    for cell in cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nbformat.v4.new_notebook(cells=cells, metadata=_python())


def _cells_of(cell, tasks, seed_of):
    """The cell with its metadata; a cell that holds a solution and its check becomes two."""
    found = _CHECK.search(cell.source) if cell.cell_type == "code" else None
    if found is None or found[1] not in tasks:
        return [_solution(cell)] if _REGION in cell.source else [cell]
    task = tasks.pop(found[1])  # a later check of the same exercise earns nothing
    if _REGION not in cell.source:
        return [_tests(cell, found, task, seed_of(task))]
    tests = nbformat.v4.new_code_cell(cell.source[found.start() :], id=f"{cell.id}-check")
    cell.source = cell.source[: found.start()].rstrip()
    return [_solution(cell), _tests(tests, _CHECK.search(tests.source), task, seed_of(task))]


def _solution(cell):
    cell.metadata["nbgrader"] = _metadata(f"answer-{cell.id}", solution=True)
    return cell


def _tests(cell, found, task, seed):
    hidden = [
        "### BEGIN HIDDEN TESTS",
        f'check("{task.name}", {task.variable}, seed={seed})',
        "### END HIDDEN TESTS",
    ]
    parts = [cell.source[: found.end()], *hidden, cell.source[found.end() :].lstrip("\n")]
    cell.source = "\n".join(filter(None, parts))
    cell.metadata["nbgrader"] = _metadata(task.name, grade=True, locked=True, points=task.points)
    return cell


def _metadata(grade_id, grade=False, solution=False, locked=False, points=None):
    found = {"schema_version": 3, "grade_id": grade_id, "grade": grade, "solution": solution}
    found |= {"locked": locked, "task": False}
    return found | ({"points": points} if grade else {})


def _python():
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"kernelspec": kernel, "language_info": {"name": "python"}}
