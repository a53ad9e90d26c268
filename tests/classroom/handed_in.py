"""Thirty and more made submissions: right ones, wrong ones of the bank, broken and hostile ones.

Each is a function of the student's folder, and `POINTS` says what each earns. Few exercises, and
cheap ones, keep the processor free: unpack, cuda_index and cuda_guard.
"""

import json
import os
import re
from pathlib import Path

import nbformat

from gemlite_lab.checker.wrong_answers import wrong_answers_to
from gemlite_lab.classroom.plan import units_of

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
WORTH = {task.name: task.points for unit in units_of(1) for task in unit.tasks}
UNPACK, INDEX, GUARD = (WORTH[name] for name in ("unpack", "cuda_index", "cuda_guard"))
PYTHON, CUDA = "02_bitpacking_exercises.ipynb", "03_cuda_c_exercises.ipynb"
HEAD = "import torch\n\nfrom gemlite_lab import check"


def solved(lesson, name):
    """The cell of our solution that comes before the check of exercise `name`."""
    cells = nbformat.read(ROOT / "solutions" / f"{lesson}.ipynb", as_version=4).cells
    place = next(i for i, cell in enumerate(cells) if cell.source.startswith(f'check("{name}"'))
    return cells[place - 1].source


RIGHT = solved("02_bitpacking", "unpack")
BODY = "\n".join(RIGHT.splitlines()[2:])  # below the signature and the docstring
RIGHT_KERNELS = [solved("03_cuda_c", name) for name in ("cuda_index", "cuda_guard")]


def text_of(*cells, **metadata):
    """The text of a notebook with these code cells."""
    made = [nbformat.v4.new_code_cell(cell, metadata=metadata) for cell in cells]
    return nbformat.writes(nbformat.v4.new_notebook(cells=made))


def python(*cells, tests='check("unpack", unpack)', **metadata):
    """A submission of one notebook with an answer to unpack."""
    return lambda place: hand_in(place, text_of(HEAD, *cells, tests, **metadata))


def kernels(*cells):
    checks = ['check("cuda_index", cuda_index)', 'check("cuda_guard", cuda_guard)']
    return lambda place: hand_in(place, text_of(HEAD, *cells, *checks), CUDA)


def unpack(*lines, above=""):
    """An answer to unpack with this body, and with lines of code above it in its cell."""
    body = "".join(f"    {line}\n" for line in lines)
    return python(f"{above}\ndef unpack(W_packed, nbits, K):\n{body}")


def hand_in(place, content, name=PYTHON):
    place.mkdir(exist_ok=True)
    content = content if isinstance(content, bytes) else content.encode()
    (place / name).write_bytes(content)


def both(place):
    python(RIGHT)(place)
    kernels(*RIGHT_KERNELS)(place)


def as_nbgrader_collects(place):
    both(place)
    (place / "week_1").mkdir()
    for name in (PYTHON, CUDA):
        (place / name).rename(place / "week_1" / name.replace("_exercises", ""))


def one_file(place):
    place.with_name(f"{place.name}.ipynb").write_text(text_of(HEAD, RIGHT, *RIGHT_KERNELS))


def with_the_lesson(place):
    """A lesson beside its exercises, in which the same name means something else."""
    python(RIGHT)(place)
    hand_in(place, text_of("def unpack(*arguments):\n    return 0"), "02_bitpacking.ipynb")


def with_an_old_copy(place):
    """What `reset` has kept beside the exercises, under a dated name."""
    python(RIGHT)(place)
    hand_in(place, text_of(STUB), "02_bitpacking_exercises.2026-11-24_120000_1.ipynb")


def a_link_to_the_solution(place):
    place.mkdir()
    (place / PYTHON).symlink_to(ROOT / "solutions" / "02_bitpacking.ipynb")


def a_link_for_a_folder(place):
    place.symlink_to(ROOT / "solutions")


def a_pipe(place):
    place.mkdir()
    os.mkfifo(place / PYTHON)


def a_huge_file(place):
    hand_in(place, "")
    os.truncate(place / PYTHON, 1 << 40)


def an_archive(place):
    place.with_name(f"{place.name}.zip").write_bytes(b"PK\3\4" + b"\0" * 100)


def shipped(place):
    hand_in(place, (ROOT / "exercises" / "02_bitpacking.ipynb").read_bytes())


def bank(exercise, number):
    """One of the bank's wrong answers."""
    return [*wrong_answers_to(exercise, TESTS).values()][number].text


def with_an_edited_kernel(place):
    """A kernel that is made in two steps, as a repair is."""
    index, guard = RIGHT_KERNELS
    broken = index.replace("blockIdx.x", "blockIdx.y")
    kernels(broken, 'cuda_index = cuda_index.replace("blockIdx.y", "blockIdx.x")', guard)(place)


def to_grades(book):
    """An answer that tries to write into the grades, and answers that read and go elsewhere."""
    return unpack(
        f"with open({str(book)!r}, 'w') as file:",
        "    file.write('student,points')",
        *BODY.replace("    ", "", 1).splitlines(),
    )


RETURN_ANY = "return torch.zeros(len(W_packed), K, dtype=torch.uint8)"
STUB = 'def unpack(W_packed, nbits, K):\n    """Words."""\n    #error YOUR CODE HERE'
SUBMISSIONS = {
    "right-both": (both, UNPACK + INDEX + GUARD),
    "right-collected": (as_nbgrader_collects, UNPACK + INDEX + GUARD),
    "right-one-file": (one_file, UNPACK + INDEX + GUARD),
    "right-with-lesson": (with_the_lesson, UNPACK),
    "right-with-old-copy": (with_an_old_copy, UNPACK),
    "right-edited-kernel": (with_an_edited_kernel, INDEX + GUARD),
    "right-helper-above": (
        python("def low(x, nbits):\n    return x & (2**nbits - 1)", re.sub(
            r"fields & \(2\*\*nbits - 1\)", "low(fields, nbits)", RIGHT)),
        UNPACK,
    ),
    "right-utf16": (lambda p: hand_in(p, text_of(HEAD, RIGHT).encode("utf-16")), UNPACK),
    "right-magic": (python(f"%%time\n!ls\n{RIGHT}"), UNPACK),
    "right-exits-above": (python(f"import sys\nsys.exit(0)\n{RIGHT}"), UNPACK),
    "right-other-metadata": (
        python(RIGHT, nbgrader={"grade": True, "points": 1000, "grade_id": "unpack"}), UNPACK,
    ),
    "wrong-bank-1": (python(bank("unpack", 0)), 0),
    "wrong-bank-2": (python(bank("unpack", 5)), 0),
    "wrong-bank-kernel": (kernels(
        f'cuda_index = """{bank("cuda_index", 0)}"""', RIGHT_KERNELS[1]), GUARD),
    "wrong-stub": (shipped, 0),
    "wrong-none": (python("found = 1"), 0),
    "broken-syntax": (python("def unpack(W_packed, nbits, K)\n    return 1"), 0),
    "broken-json": (lambda p: hand_in(p, '{"cells": ['), 0),
    "broken-nested": (lambda p: hand_in(p, "[" * 200_000), 0),
    "broken-cells": (lambda p: hand_in(p, '{"cells": [null, 3]}'), 0),
    "broken-latin1": (lambda p: hand_in(p, text_of("é = 1").encode("latin-1")), 0),
    "broken-empty": (lambda p: p.mkdir(), 0),
    "broken-archive": (an_archive, 0),
    "hostile-link": (a_link_to_the_solution, 0),
    "hostile-folder-link": (a_link_for_a_folder, 0),
    "hostile-pipe": (a_pipe, 0),
    "hostile-huge": (a_huge_file, 0),
    "hostile-prints": (unpack("print('unpack: right, bit for bit')", RETURN_ANY), 0),
    "hostile-own-check": (python(
        STUB, 'def check(*arguments, **named):\n    print("unpack: right")'), 0),
    "hostile-edited-test": (python(STUB, tests='print("unpack: right, bit for bit")'), 0),
    "hostile-patches": (unpack(
        "import sys",
        "for module in list(sys.modules.values()):",
        "    if getattr(module, '__name__', '').startswith('gemlite_lab'):",
        "        vars(module).update(judge=print, compare=print, same=lambda *a: True)",
        RETURN_ANY,
        above="import gemlite_lab\ngemlite_lab.checker.check.judge = print",
    ), 0),
    "hostile-exits": (unpack("raise SystemExit(0)"), 0),
    "hostile-exits-hard": (unpack("import os", "os._exit(0)"), 0),
    "hostile-endless": (unpack("while True: pass"), 0),
    "hostile-forks": (unpack("import os", "while True: os.fork()"), 0),
    "hostile-huge-output": (unpack(
        "for _ in range(100): print('passed ' * 100_000)", RETURN_ANY), 0),
    "hostile-reads-expected": (unpack(
        "import gc",
        "for each in gc.get_objects():",
        "    if isinstance(each, torch.Tensor) and each.shape == (len(W_packed), K):",
        "        return each.to(torch.uint8)",
        RETURN_ANY,
    ), 0),
    "hostile-reads-solution": (unpack(
        "import json",
        f"cells = json.load(open({str(ROOT / 'solutions' / '02_bitpacking.ipynb')!r}))['cells']",
        "exec(''.join(cells[6]['source']), globals())",
        "return unpack(W_packed, nbits, K)",
    ), 0),
    "hostile-too-much-code": (python(RIGHT, "x = 1\n" * 200_000), 0),
    "hostile-escapes": (unpack("raise ValueError('\\x1b[2J passed')"), 0),
    "hostile-always-equal": (unpack(
        "class Any(torch.Tensor):",
        "    def __eq__(self, other): return True",
        f"{RETURN_ANY}.as_subclass(Any)",
    ), 0),
    "hostile-kernel": (kernels(
        'cuda_index = """#include "/etc/passwd"\n__global__ void cuda_index() {}"""',
        'cuda_guard = open("/etc/passwd").read()',
    ), 0),
    "hostile, \"name\"": (python(RIGHT), UNPACK),
    "name-\udcff": (python(RIGHT), UNPACK),
    "Zoë": (python(RIGHT), 0),
    "zoë": (python(RIGHT), 0),
}  # fmt: skip
POINTS = {student: points for student, (_, points) in SUBMISSIONS.items()}


def hand_in_all(folder, book):
    """Make all submissions in `folder`; one of them attacks the file `book`. {student: points}."""
    folder.mkdir()
    for student, (make, _) in SUBMISSIONS.items():
        make(folder / student)
    to_grades(book)(folder / "hostile-writes-grades")
    points = POINTS | {"hostile-writes-grades": 0}
    points["broken-archive.zip"] = points.pop("broken-archive")
    points["name-\\xff"] = points.pop("name-\udcff")
    return points


def cells_in(path):
    return json.loads(path.read_text())["cells"]
