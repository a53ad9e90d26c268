"""Processes that stand ready for an answer: while one serves a check, the next is made."""

import atexit
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from typing import BinaryIO, NamedTuple


class Child(NamedTuple):
    """A process that waits for an answer: the connection to it, and the file of what it prints."""

    connection: socket.socket
    printed: BinaryIO


class Template:
    """A process with everything imported, from which children are forked; see template.py.

    module: what it imports besides torch.
    """

    def __init__(self, module=None):
        self._control, theirs = socket.socketpair()
        words = [sys.executable, "-m", "gemlite_lab.sandbox.template", str(theirs.fileno())]
        self._process = subprocess.Popen(
            [*words, *([module] if module else [])],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._one_at_a_time = threading.Lock()
        atexit.register(self._stop)
        self._next = self._ask_for_child()

    def take(self):
        """The child that stands ready; the next one is made meanwhile."""
        with self._one_at_a_time:
            child, self._next = self._next, self._ask_for_child()
        return child

    def _ask_for_child(self):
        ours, theirs = socket.socketpair()
        printed = tempfile.TemporaryFile()
        socket.send_fds(self._control, [b"+"], [theirs.fileno(), printed.fileno()])
        theirs.close()
        return Child(ours, printed)

    def _stop(self):
        self._next.connection.close()
        self._control.close()
        self._process.wait()


_template = cache(Template)


def take_child(module):
    """A child whose process has imported `module`; a new template, should that have been killed."""
    try:
        return _template(module).take()
    except OSError:
        _template.cache_clear()
        return _template(module).take()
