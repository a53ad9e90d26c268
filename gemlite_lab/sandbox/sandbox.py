"""`Sandbox`: run a learner's Python function in a process of its own."""

import linecache
import os
import pickle
import select
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from signal import SIGKILL

import torch

from gemlite_edu.runners.simulator.run import show_what_it_printed
from gemlite_lab.sandbox.children import take_child
from gemlite_lab.sandbox.messages import receive, send, unpacked

_SLEEPING = ("S", "T", "D")  # states of a process that does not compute, as proc(5) has them
SECONDS = 20.0  # of processor time, for one call
_PART_SECONDS = 100.0  # after which a message that has begun is given up
_ASLEEP_SECONDS = 10.0  # after which a process that sleeps and has computed nothing is stopped


class AnswerError(Exception):
    """The answer raised an error, or its process ended. kind: the error's type, in words."""

    def __init__(self, kind, message, line=""):
        super().__init__(message)
        self.kind, self.line = kind, line


class Sandbox:
    """A learner's function `answer`, to be called with tensors and numbers in its own process.

    packages: what it may import of this repository. module: what to import there before the answer
    comes. is_confined: without it, the process may also write files and start programs, as Triton
    does for a GPU.

    A call raises AnswerError if the answer does. What the answer prints appears at the end.
    """

    def __init__(self, answer, packages=(), module=None, is_confined=True):
        self._module = module
        self._settings = {
            "answer": _pickled(answer),
            "texts": _texts_of(answer),
            "packages": tuple(packages),
            "is_confined": is_confined,
            "seconds": SECONDS,
        }
        self._child, self._process = None, None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._end()

    def __call__(self, *arguments):
        """What the answer returns; tensors in `arguments` change as it changed them."""
        return self.run(None, *arguments)

    def run(self, function, *arguments):
        """What `function(answer, *arguments)` returns there; it stands in one of `packages`."""
        if self._child is None:
            self._begin()
        try:
            send(self._child.connection, pickle.dumps((function, arguments)))
            self._wait()
            content = receive(self._child.connection)
        except AnswerError:
            raise
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            content = None
        except BaseException:  # such as the learner's interrupt
            self._end()
            raise
        return self._read(content, arguments)

    def forget(self):
        """End the process, so that the next call finds nothing that an earlier one has kept."""
        self._end()

    def _wait(self):
        """Wait until the answer has said something. A busy machine stops none that computes."""
        last = None
        while not select.select([self._child.connection], [], [], _ASLEEP_SECONDS)[0]:
            state, *times = _state_of(self._process)
            if state in _SLEEPING and times == last:
                self._end()
                raise AnswerError("asleep", "")
            last = times

    def _read(self, content, arguments):
        try:
            reply = unpacked(content)
            if "error" in reply:
                raise AnswerError(str(reply["error"]), str(reply["message"]), str(reply["line"]))
            for index, changed in reply["changed"].items():
                arguments[index].set_(changed)
            return reply["result"]
        except AnswerError:
            raise
        except Exception:  # the process has ended, or sent what no answer sends
            self._end()
            raise AnswerError("ended", "") from None

    def _begin(self):
        self._child = take_child(self._module)
        self._child.connection.settimeout(_PART_SECONDS)
        self._process = int(receive(self._child.connection))
        path, folder = sys.path, os.getcwd()
        now = {"path": path, "folder": folder, "threads": torch.get_num_threads()}
        send(self._child.connection, pickle.dumps(self._settings | now))

    def _end(self):
        """End the process, with all that it may have started, and show what it printed."""
        if self._child is None:
            return
        connection, printed = self._child
        self._child = None
        connection.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process, SIGKILL)
        with printed:
            printed.seek(0)
            show_what_it_printed(printed.read().decode(errors="replace"), advice="")


def _state_of(process):
    """(state, ticks of processor time in its own code, in the kernel's); see proc(5), "stat"."""
    text = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return text[0], text[11], text[12]


def _pickled(answer):
    """The answer with the names that it uses, also where a module has defined it.

    Raises AnswerError if it uses something that cannot be sent.
    """
    import cloudpickle

    function = answer
    while isinstance(function, partial):  # which says that it comes from functools
        function = function.func
    module = sys.modules.get(getattr(function, "__module__", None))
    is_known = module is None or module.__name__ == "__main__"
    if not is_known:
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(answer)
    except Exception as error:
        raise AnswerError("unsendable", str(error)) from None
    finally:
        if not is_known:
            cloudpickle.unregister_pickle_by_value(module)


def _texts_of(answer):
    """{file: lines} of the answer and of the functions that it calls, for tracebacks and Triton."""
    found, waiting = {}, [answer]
    while waiting:
        function = waiting.pop()
        if isinstance(function, partial):
            waiting.append(function.func)
            continue
        function = getattr(function, "fn", function)  # Triton's jit wraps a function
        code = getattr(function, "__code__", None)
        if code is None or code.co_filename in found:
            continue
        found[code.co_filename] = linecache.getlines(code.co_filename)
        waiting += [function.__globals__[n] for n in code.co_names if n in function.__globals__]
    return found
