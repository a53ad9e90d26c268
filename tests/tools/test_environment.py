"""What a fresh machine may lack gets one sentence with the command that mends it."""

import json
import os
import shutil
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import environment  # noqa: E402
import open_lab  # noqa: E402


def script(folder, name, body):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def only_on_path(folder, *programs):
    folder.mkdir()
    for program in programs:
        os.symlink(shutil.which(program), folder / program)
    return folder


@pytest.fixture
def bare(tmp_path, monkeypatch):
    folder = only_on_path(tmp_path / "bin", "sh")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("PYTHON", raising=False)
    return folder


def stopped(capsys, function):
    with pytest.raises(SystemExit):
        function()
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


def test_a_missing_compiler(bare, capsys):
    assert "sudo apt install g++" in stopped(capsys, environment.check_compiler)


def test_a_python_that_is_too_old(bare, capsys, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(script(bare, "python3", "echo 309")))
    message = stopped(capsys, environment.find_python)
    assert "is Python 3.9, and gemlite_edu needs 3.11 to 3.14" in message


def test_a_python_without_venv(bare, capsys, monkeypatch):
    body = 'case "$2" in *print*) echo 312;; *) exit 1;; esac'
    monkeypatch.setattr(sys, "executable", str(script(bare, "python3", body)))
    assert "sudo apt install python3.12-venv" in stopped(capsys, environment.find_python)


def test_another_python_on_the_path_is_taken_when_the_first_is_too_old(bare, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(script(bare, "python3", "echo 309")))
    good = script(bare, "python3.12", 'case "$2" in *print*) echo 312;; *) exit 0;; esac')
    assert environment.find_python() == str(good)


def test_a_python_named_by_the_user_is_the_only_one_tried(bare, capsys, monkeypatch):
    script(bare, "python3.12", 'case "$2" in *print*) echo 312;; *) exit 0;; esac')
    monkeypatch.setenv("PYTHON", "python3.99")
    assert "There is no python3.99" in stopped(capsys, environment.find_python)


def test_a_busy_port(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"make lab PORT={int(port) + 1}" in open_lab.problem_with(port)
    assert open_lab.problem_with(port) is None


@pytest.mark.parametrize("port", ["lab", "0", "70000", "-1"])
def test_a_port_that_is_none(port):
    assert "is not a port number" in open_lab.problem_with(port)


def test_make_lab_says_when_the_port_is_busy():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = subprocess.run(
            [sys.executable, "tools/open_lab.py"],
            cwd=ROOT,
            env={**os.environ, "PORT": str(taken.getsockname()[1])},
            capture_output=True,
            text=True,
        )
    assert result.returncode == 1
    assert "cannot be used (Address already in use)" in result.stderr


def test_the_pins_suit_every_python_of_the_range():
    for line in (ROOT / "constraints.txt").read_text().splitlines()[2:]:
        try:
            package = metadata.metadata(Requirement(line).name)
        except metadata.PackageNotFoundError:  # of an extra that is not installed here
            continue
        pythons = SpecifierSet(package["Requires-Python"] or "")
        for minor in range(environment.OLDEST[1], environment.NEWEST[1] + 1):
            assert f"3.{minor}.0" in pythons, f"{line} is for Python {pythons}"


@pytest.mark.parametrize(
    "there, installs", [((), True), (("g++",), True), (("make",), True), (("g++", "make"), False)]
)
def test_the_devcontainer_installs_the_compiler_where_it_is_missing(bare, there, installs):
    for name in there:
        script(bare, name, "")
    script(bare, "sudo", "echo sudo $@")
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    command = ["sh", "-c", container["onCreateCommand"]]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert ("sudo apt-get install -y g++ make" in output) == installs


def test_the_stamp_changes_with_the_pins(tmp_path, monkeypatch):
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(environment, "ROOT", str(tmp_path))
    before = environment.fingerprint("python")
    (tmp_path / "constraints.txt").write_text("2")
    assert environment.fingerprint("python") != before


def test_make_test_lets_python_keep_the_bytecode_of_modules(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for name in ("ruff", "mypy"):
        script(tmp_path, name, "")
    script(tmp_path, "python", "echo PYTHONDONTWRITEBYTECODE=$PYTHONDONTWRITEBYTECODE")
    command = ["make", "--no-print-directory", "test", "SETUP=true", f"BIN={tmp_path}"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert output == "PYTHONDONTWRITEBYTECODE=\n"
