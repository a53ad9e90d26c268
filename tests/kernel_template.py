"""A process that has imported what every notebook's kernel imports, and forks the kernels.

    python -P tests/kernel_template.py SOCKET

Each message on the Unix socket SOCKET is JSON: a kernel's arguments, environment and folder. The
kernel answers with the number of its process. Nothing of this repository is imported here, so that
a notebook imports it itself.
"""

import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress

import matplotlib.figure  # noqa: F401
import torch  # noqa: F401
from ipykernel import kernelapp

_LARGEST_MESSAGE = 2**20


def main(control):
    """Fork a kernel for each message, until the parent has gone."""
    signal.signal(signal.SIGCHLD, _take_away)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    while message := control.recv(_LARGEST_MESSAGE):
        if os.fork() == 0:
            _live_as_kernel(control, **json.loads(message))


def _take_away(*_):
    """Wait for the kernels that have ended, so that their time counts as this process's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _live_as_kernel(control, arguments, environment, folder):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()  # before the answer, because whoever ends the kernel ends its process group
    control.send(str(os.getpid()).encode())
    control.close()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment | {"JPY_PARENT_PID": str(os.getppid())})
    sys.argv = arguments
    try:
        kernelapp.launch_new_instance()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
