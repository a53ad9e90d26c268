"""`Sandbox`: run a learner's Python function in a process of its own."""

import io
import linecache
import os
import pickle
import select
import sys
from collections import deque
from contextlib import suppress
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from signal import SIGKILL
from threading import Lock

import torch

from gemlite_edu.runners.simulator.run import show_what_it_printed
from gemlite_lab.sandbox.children import take_child
from gemlite_lab.sandbox.messages import receive, send, unpacked
from gemlite_lab.sandbox.written import cached

_SLEEPING = ("S", "T", "D")  # states of a thread that does not compute, as proc(5) has them
SECONDS = 10.0  # of processor time, for one call
_STOPPED = ("endless", "asleep")  # kinds of errors of a call that did not end by itself
_GRACE_SECONDS = 2.0  # further ones, after which a process that has not stopped itself is killed
_PART_SECONDS = 100.0  # after which a message that has begun is given up
_ASLEEP_SECONDS = 10.0  # of sleep, within twice that time, after which a process is stopped
_LOOK_SECONDS = 0.1  # from one look at whether it sleeps to the next


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

    A call raises AnswerError if the answer does. Once a call had to be stopped, each later one
    raises its error at once: whoever looks for the mistake need not wait again. What the answer
    prints appears at the end.
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
        self._child, self._process, self._stopped = None, None, None
        self._starting = Lock()  # another thread may leave the context while a call begins

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._stopped = self._stopped or AnswerError("ended", "")
        self._end()

    def __call__(self, *arguments):
        """What the answer returns; tensors in `arguments` change as it changed them."""
        return self.run(None, *arguments)

    def run(self, function, *arguments):
        """What `function(answer, *arguments)` returns there; it stands in one of `packages`."""
        try:
            return self._run(function, arguments)
        except AnswerError as error:
            self._stopped = error if error.kind in _STOPPED else None
            raise

    def _run(self, function, arguments):
        with self._starting:
            if self._stopped:
                raise self._stopped
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
        """Wait until the answer has said something. A busy machine stops none that computes.

        A process stops itself when its time is up, but not in a function of C that never ends, nor
        if the answer has taken its timer away.
        """
        most = _processor_seconds_of(self._process) + SECONDS + _GRACE_SECONDS
        looks = round(_ASLEEP_SECONDS / _LOOK_SECONDS)
        was_asleep = deque(maxlen=2 * looks)
        while not select.select([self._child.connection], [], [], _LOOK_SECONDS)[0]:
            was_asleep.append(all(state in _SLEEPING for state in _states_of(self._process)))
            is_endless = _processor_seconds_of(self._process) > most
            if is_endless or sum(was_asleep) >= looks:
                self._end()
                raise AnswerError("endless" if is_endless else "asleep", "")

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
        with self._starting:
            child, self._child = self._child, None
        if child is None:
            return
        connection, printed = child
        connection.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process, SIGKILL)
        with printed:
            printed.seek(0)
            show_what_it_printed(printed.read().decode(errors="replace"), advice="")


def _states_of(process):
    """The states of its threads, each a letter; see proc(5), "stat". Threads may end meanwhile."""
    for path in Path(f"/proc/{process}/task").glob("*/stat"):
        with suppress(OSError):
            yield path.read_text().rpartition(") ")[2][0]


def _processor_seconds_of(process):
    """What its threads have used so far; 0 for a process that has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


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

    class Pickler(cloudpickle.Pickler):
        """Takes the answer's own functions by value where functools.lru_cache holds them, too."""

        def reducer_override(self, obj):
            is_own = getattr(obj, "__module__", None) == getattr(function, "__module__", None)
            if is_own and isinstance(obj, _lru_cache_wrapper):
                return cached, (obj.__wrapped__, *obj.cache_parameters().values())
            return super().reducer_override(obj)

    content = io.BytesIO()
    try:
        Pickler(content).dump(answer)
        return content.getvalue()
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
        function = getattr(function, "__wrapped__", function)  # as functools.lru_cache does
        code = getattr(function, "__code__", None)
        if code is None or code.co_filename in found:
            continue
        found[code.co_filename] = linecache.getlines(code.co_filename)
        waiting += [function.__globals__[n] for n in code.co_names if n in function.__globals__]
    return found
