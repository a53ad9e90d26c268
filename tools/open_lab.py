"""`make lab`: copy the lessons and exercises into work/ and open JupyterLab at the first lesson."""

import os
import socket
import sys
from pathlib import Path

from gemlite_lab.lesson.copies import copy_new, originals

ROOT = Path(__file__).resolve().parent.parent


def lab_command(port):
    """The command that starts JupyterLab; given a `port`, it takes that port or fails."""
    first = next(iter(originals(ROOT)))
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}"]
    command += [f"--LabApp.default_url=/lab/tree/work/{first}.ipynb"]
    if port:
        command += [f"--port={port}", "--ServerApp.port_retries=0"]
    if os.geteuid() == 0:
        command += ["--allow-root"]
    return command


def problem_with(port):
    """One sentence on why JupyterLab cannot have `port`, or None."""
    if not port.isdigit() or not 1 <= int(port) <= 65535:
        return f"PORT={port} is not a port number: make lab PORT=8889"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(port)))
        except OSError as error:
            other = int(port) % 65535 + 1
            return f"port {port} cannot be used ({error.strerror}): make lab PORT={other}"
    return None


def main():
    port = os.environ.get("PORT", "")
    problem = problem_with(port) if port else None
    if problem:
        sys.exit(problem)
    for renamed in copy_new(ROOT):
        print(renamed, flush=True)
    command = lab_command(port)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
