"""Use a wheel in a fresh environment for each Python and torch, with the triton of that torch."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TORCHES = ("2.11.0", "2.13.0")  # the oldest and the newest of pyproject.toml
USE = Path(__file__).resolve().parent / "use_wheel.py"
VERSIONS = """
import platform
from importlib.metadata import version
print(platform.python_version(), version("torch"), version("triton"))
"""
ALONE = {"PYTHONPATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def rows(wheel):
    """Yield (Python, torch, triton, what was seen), a row for each Python and torch."""
    for name in PYTHONS:
        python = find_python(name)
        for torch in TORCHES:
            if python is None:
                yield name, torch, "", "not available here: there is no such Python"
            else:
                yield tried(python, name, torch, wheel)


def find_python(name):
    """The path of a Python of this version that runs and has venv, from PATH or pyenv, or None."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{name}"), *root.glob(f"versions/{name}.*/bin/python")]
    for candidate in filter(None, candidates):
        if ran([candidate, "-c", "import venv, ensurepip"])[0]:
            return candidate
    return None


def tried(python, name, torch, wheel):
    """The row of one environment outside the repository, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "environment" / "bin" / "python"
        ran([python, "-m", "venv", own.parent.parent])
        installs, output = ran([own, "-m", "pip", "install", "-q", wheel, f"torch=={torch}"])
        if not installs:
            return name, torch, "", f"not available here: {last_line(output)}"
        name, torch, triton = ran([own, "-c", VERSIONS])[1].split()
        environment = {"GEMLITE_EDU_CACHE": f"{folder}/cache"}
        for command in ([own, USE], [own, "-m", "gemlite_edu"]):
            works, output = ran(command, folder, environment)
            if not works:
                return name, torch, triton, f"FAILED: {last_line(output)}"
        return name, torch, triton, "works"


def ran(command, folder=None, environment=()):
    """(whether it exited with 0, what it printed)."""
    result = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **ALONE, **dict(environment)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return result.returncode == 0, result.stdout


def last_line(output):
    return (output.strip().splitlines() or ["it printed nothing"])[-1]
