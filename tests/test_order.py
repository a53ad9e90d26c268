"""Who may import whom: this file states the order of the folders once, and holds the code to it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# A folder imports from itself and from folders to its left.
ORDER = {
    "gemlite_edu": ("numbers", "packing", "kernels", "runners", "operators", "layers", "models"),
    "gemlite_lab": ("bench", "draw", "lesson", "sandbox", "checker", "classroom"),
}
TOPS = {"core", "helper"}  # re-exports, above all folders


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {
    module_of(path): path for package in ORDER for path in sorted((ROOT / package).rglob("*.py"))
}


def imported(name):
    """Modules of the two packages that the module `name` imports, at any depth of its code."""
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(name, node)
            for alias in node.names:
                full = f"{module}.{alias.name}"
                if full in MODULES or module in MODULES:
                    yield full if full in MODULES else module


def _absolute(name, node):
    if not node.level:
        return node.module or ""
    is_package = MODULES[name].stem == "__init__"
    base = name.split(".")[: None if is_package and node.level == 1 else -node.level + is_package]
    return ".".join([*base, *([node.module] if node.module else [])])


def place(name):
    """(package, rank of its folder): what a module may import has no higher rank."""
    package, _, rest = name.partition(".")
    folder = rest.partition(".")[0]
    ranks = ORDER[package]
    return package, ranks.index(folder) if folder in ranks else len(ranks)


def test_every_folder_has_its_place():
    for package, folders in ORDER.items():
        found = {p.name for p in (ROOT / package).iterdir() if any(p.rglob("*.py"))}
        assert found == set(folders)
        files = {p.stem for p in (ROOT / package).glob("*.py")}
        assert files <= {"__init__", "__main__", *TOPS}


def test_the_map_in_contributing_has_these_folders_in_this_order():
    map_ = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| `(\w+/\w+)/` \|.*\| (`.*`) \|$", map_, re.MULTILINE)
    ordered = [f"{package}/{folder}" for package, folders in ORDER.items() for folder in folders]
    assert [folder for folder, _ in rows] == ordered
    for folder, files in rows:
        for name in files.strip("`").split("` `"):
            assert (ROOT / folder / name).is_file(), f"{folder}/{name}"


def test_the_package_has_few_entries():
    entries = {p.name for p in (ROOT / "gemlite_edu").iterdir()} - {"__pycache__"}
    assert len(entries - {"__main__.py", "__init__.pyi", "py.typed"}) <= 11


@pytest.mark.parametrize("name", MODULES)
def test_imports_lead_one_way(name):
    package, rank = place(name)
    for target in imported(name):
        other, its_rank = place(target)
        if other == package:
            assert its_rank <= rank or target == package, f"{name} imports {target}"
        else:
            assert package == "gemlite_lab", f"{name} imports {target}"


def test_no_imports_in_a_circle():
    assert circles({name: set(imported(name)) - {name} for name in MODULES}) == []


HEADERS = {
    path.name: path
    for path in (ROOT / "gemlite_edu/runners/simulator").rglob("*")
    if path.suffix in (".h", ".cpp")
}


def test_no_headers_of_the_simulator_in_a_circle():
    include = re.compile(r'^#include ["<](?:.*/)?(\w+\.h)[">]', re.MULTILINE)
    graph = {
        name: set(include.findall(path.read_text())) & HEADERS.keys()
        for name, path in HEADERS.items()
    }
    assert circles(graph) == []


def circles(graph):
    """Nodes that can reach themselves."""

    def reached(node):
        seen, new = set(), set(graph[node])
        while new:
            seen |= new
            new = {far for near in new for far in graph[near]} - seen
        return seen

    return [node for node in graph if node in reached(node)]


def test_the_packages_never_import_lessons_or_tests():
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            tops = {name.partition(".")[0] for name in names}
            assert not tops & {"notebooks", "exercises", "solutions", "tests"}, path


def test_kernels_know_neither_torch_nor_launches():
    for path in (ROOT / "gemlite_edu/kernels/cuda").glob("*/*"):
        text = path.read_text()
        assert "torch" not in text and "<<<" not in text, path.name
        if path.name != "bindings.cu":
            assert "cudaLaunch" not in text, path.name


def test_import_needs_no_torch_compiler_or_gpu():
    code = (
        "import sys, gemlite_edu, gemlite_lab; "
        "loaded = {'torch', 'triton', 'subprocess', 'ctypes'} & set(sys.modules); "
        "assert not loaded, loaded"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_no_compiler_gives_one_sentence(monkeypatch, tmp_path):
    from gemlite_edu.runners.simulator.compilers import find_compiler

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    try:
        find_compiler()
        message = ""
    except RuntimeError as error:
        message = str(error)
    assert message.startswith("no C++ compiler found") and "apt install g++" in message


PUBLIC = {
    *("gemlite_edu", "gemlite_edu.core", "gemlite_edu.helper", "gemlite_edu.packing"),
    *("gemlite_lab", "gemlite_lab.bench", "gemlite_lab.draw"),
}
LESSONS = [
    path
    for pattern in ("notebooks/*.ipynb", "solutions/*.ipynb", "README.md", "docs/*.md")
    for path in sorted(ROOT.glob(pattern))
]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_lesson_imports_public_names_only(path):
    found = re.findall(r"^\s*\"?(?:from|import) (gemlite_[\w.]+)", path.read_text(), re.MULTILINE)
    assert set(found) <= PUBLIC
