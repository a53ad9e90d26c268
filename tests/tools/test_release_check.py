import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import release_check  # noqa: E402
import release_matrix  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def seen(monkeypatch):
    """What the matrix prints where every command ends with what `answers` says of it."""
    commands = []

    def ran(command, *_):
        words = " ".join(map(str, command))
        commands.append(words)
        return next((answer for key, answer in seen.answers.items() if key in words), (True, ""))

    def seen(answers):
        seen.answers = {"importlib.metadata": (True, "3.12.1 2.11.0 3.6.0\n"), **answers}
        return list(release_matrix.rows("a.whl"))

    monkeypatch.setattr(release_matrix, "ran", ran)
    monkeypatch.setattr(release_matrix, "PYTHONS", ("3.12",))
    monkeypatch.setattr(release_matrix, "find_python", lambda name: f"python{name}")
    return seen


def test_a_row_says_what_was_installed_and_that_it_works(seen):
    assert seen({}) == [("3.12.1", "2.11.0", "3.6.0", "works")] * len(release_matrix.TORCHES)


def test_what_pip_cannot_install_is_not_available_and_no_failure(seen):
    row = seen({"pip": (False, "...\nERROR: No matching distribution found for torch\n")})[0]
    assert row[-1] == "not available here: ERROR: No matching distribution found for torch"
    assert release_check.table_of([row]) == []


@pytest.mark.parametrize("key", ["use_wheel.py", "-m gemlite_edu"])
def test_a_use_that_fails_is_a_failure(seen, key, capsys):
    row = seen({key: (False, "Traceback\nAssertionError\n")})[0]
    assert row == ("3.12.1", "2.11.0", "3.6.0", "FAILED: AssertionError")
    assert release_check.table_of([row]) == [row]
    assert "| 3.12.1 | 2.11.0 | 3.6.0 | FAILED: AssertionError |" in capsys.readouterr().out


def test_a_python_that_is_not_there_is_not_available(monkeypatch):
    monkeypatch.setattr(release_matrix, "find_python", lambda name: None)
    assert {row[-1] for row in release_matrix.rows("a.whl")} == {
        "not available here: there is no such Python"
    }


def test_a_python_is_found_on_the_path_or_among_those_of_pyenv(tmp_path, monkeypatch):
    shim, own = tmp_path / "python3.12", tmp_path / "versions" / "3.12.7" / "bin" / "python"
    own.parent.mkdir(parents=True)
    for path, status in ((shim, 1), (own, 0)):
        path.write_text(f"#!/bin/sh\nexit {status}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert release_matrix.find_python("3.12") == own
    own.unlink()
    assert release_matrix.find_python("3.12") is None


def test_the_torches_are_the_oldest_and_the_newest_of_the_range():
    oldest, newest = (int(torch.split(".")[1]) for torch in release_matrix.TORCHES)
    assert f"torch>=2.{oldest},<2.{newest + 1}" in PROJECT["dependencies"]
    lowest, highest = (int(release_matrix.PYTHONS[i].split(".")[1]) for i in (0, -1))
    assert PROJECT["requires-python"] == f">=3.{lowest},<3.{highest + 1}"


def test_what_does_not_build_is_a_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(release_check, "ran", lambda *_: (False, "...\nno license\n"))
    (problem,) = release_check.problems_of_building(tmp_path)
    assert problem == "the package does not build: no license"
    (problem,) = release_check.problems_of_building_the_site(tmp_path)
    assert "no license" in problem


def test_the_exit_status_counts_problems_and_failures(monkeypatch):
    monkeypatch.setattr(release_check, "problems_of_building", lambda folder: ["one"])
    monkeypatch.setattr(release_check, "problems_of_building_the_site", lambda folder: ["two"])
    with pytest.raises(SystemExit, match="2 problems, and 0 environments"):
        release_check.main()


def test_the_classifiers_name_the_pythons_that_were_tried():
    page = (ROOT / "docs" / "platforms.md").read_text()
    works = [line.split("|")[1].strip() for line in page.splitlines() if line.endswith("| works |")]
    tried = {".".join(version.split(".")[:2]) for version in works}
    stated = {name for name in PROJECT["classifiers"] if "Python :: 3." in name}
    assert stated == {f"Programming Language :: Python :: {version}" for version in tried}
