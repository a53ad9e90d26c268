"""Set up .venv for `make lab` and `make test`, unless it is up to date.

    python3 tools/environment.py EXTRA

It runs on any python3, even one that is too old, so that it can say so.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
INSTALL_SECONDS = os.path.join(VENV, "install-seconds")  # processor time; `make test` prints it
OLDEST, NEWEST = (3, 11), (3, 14)


def main(extra):
    check_compiler()
    python = find_python()
    stamp, wanted = os.path.join(VENV, "installed-" + extra), fingerprint(python)
    if read(stamp) == wanted:
        write(INSTALL_SECONDS, "0")
        return
    print("Installing into .venv (once; it takes some minutes and 2 to 5 GB)", flush=True)
    if read(os.path.join(VENV, "made-with")) != python + ROOT:
        shutil.rmtree(VENV, ignore_errors=True)
        run([python, "-m", "venv", VENV], "could not create .venv")
        write(os.path.join(VENV, "made-with"), python + ROOT)
    pip = [os.path.join(VENV, "bin", "python"), "-m", "pip", "--disable-pip-version-check"]
    run(
        pip + ["install", "-q", "--no-compile", "-c", "constraints.txt", "-e", ".[" + extra + "]"],
        "pip could not install the packages above: is the network up?",
    )
    quiet_jupyterlab()
    write(stamp, wanted)
    write(INSTALL_SECONDS, "%.1f" % sum(os.times()[:4]))


def check_compiler():
    if not any(shutil.which(c) for c in (os.environ.get("CXX"), "g++", "clang++") if c):
        stop("No C++ compiler found; the simulator needs one: sudo apt install g++")


def find_python():
    """$PYTHON if it is set, else the first suitable one of this python and pythonX.Y on PATH."""
    candidates = [sys.executable]
    candidates += ["python3.%d" % minor for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    if os.environ.get("PYTHON"):
        candidates = [os.environ["PYTHON"]]
    problem = None
    for candidate in candidates:
        path = shutil.which(candidate)
        problem = problem or problem_of(path, candidate)
        if path and problem_of(path, candidate) is None:
            return path
    stop(problem)


def problem_of(path, name):
    """One sentence on why this python is not suitable, or None."""
    if path is None:
        return "There is no %s: name another with make PYTHON=python3.12" % name
    code = "import sys; print(sys.version_info[0] * 100 + sys.version_info[1])"
    try:
        number = int(subprocess.check_output([path, "-c", code], stderr=subprocess.DEVNULL))
    except (OSError, ValueError, subprocess.CalledProcessError):
        return "%s does not run: name another with make PYTHON=python3.12" % path
    version = (number // 100, number % 100)
    if not OLDEST <= version <= NEWEST:
        return (
            "%s is Python %d.%d, and gemlite_edu needs 3.11 to 3.14: "
            "install one and run make PYTHON=python3.12" % ((path,) + version)
        )
    if subprocess.call([path, "-c", "import venv, ensurepip"], stderr=subprocess.DEVNULL):
        return "%s has no venv: sudo apt install python%d.%d-venv" % ((path,) + version)
    return None


def fingerprint(python):
    digest = hashlib.sha256((python + ROOT).encode())  # a moved checkout needs a new install
    for name in ("pyproject.toml", "constraints.txt"):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def quiet_jupyterlab():
    """Turn off JupyterLab's question about news at first start, and nbgrader's teacher menus."""
    news = {"fetchNews": "false", "checkForUpdates": False}
    write_json(
        "share/jupyter/lab/settings/overrides.json",
        {
            "@jupyterlab/apputils-extension:notification": news,
        },
    )
    write_json(
        "etc/jupyter/labconfig/page_config.json",
        {
            "disabledExtensions": {"@jupyter/nbgrader": True},
        },
    )


def write_json(path, content):
    path = os.path.join(VENV, path)
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    write(path, json.dumps(content, indent=1) + "\n")


def run(command, failure):
    if subprocess.call(command, cwd=ROOT):
        stop(failure)


def read(path):
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def stop(sentence):
    sys.stderr.write(sentence + "\n")
    sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
