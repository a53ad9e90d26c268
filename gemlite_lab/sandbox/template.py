"""A process that has imported torch and forks a child for each check, to save it that second.

    python -m gemlite_lab.sandbox.template CONTROL [MODULE]

CONTROL: a Unix socket. Each message on it brings the two descriptors of a new child: its connection
to the checker, and a file for what it prints. MODULE: what to import and prepare first. The process
holds nothing but imported modules, so a child finds nothing else in its memory.
"""

import gc
import os
import signal
import socket
import sys
from importlib import import_module

import cloudpickle  # noqa: F401  reads the answer
import torch

import gemlite_lab.sandbox.written  # noqa: F401  some answers are unpickled by it


def main(control):
    """Fork a child for each message, until the parent has gone."""
    torch.empty(1).sum()  # what torch does at its first call
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel takes the ended children away
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _live_as_child(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _live_as_child(connection, printed):
    from gemlite_lab.sandbox.child import serve

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        serve(socket.socket(fileno=connection), printed)
    finally:
        os._exit(0)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        import_module(name).prepare()
    main(socket.socket(fileno=int(sys.argv[1])))
