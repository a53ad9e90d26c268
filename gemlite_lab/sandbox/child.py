"""The process in which a learner's function runs: it serves one check, and then it ends."""

import ctypes
import io
import linecache
import os
import pickle
import signal
import sys
import traceback
from contextlib import suppress
from functools import partial
from inspect import signature

import torch

from gemlite_lab.sandbox.confinement import confine
from gemlite_lab.sandbox.imports import refuse_imports
from gemlite_lab.sandbox.messages import packed, plain, receive, send
from gemlite_lab.sandbox.unchanged import same

_DIES_WITH_PARENT = 1
_PRINTED_CHARACTERS = 500_000

_memory = {}  # {(place, dtype, shape, strides): the first argument like that}
_returned = []  # (a tensor that a call has returned, a copy of it)


def serve(connection, printed):
    """Answer requests until the connection ends."""
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    os.setsid()
    send(connection, str(os.getpid()).encode())
    settings = pickle.loads(receive(connection))
    _print_into(printed)
    sys.path[:] = settings["path"]
    os.chdir(settings["folder"])
    torch.set_num_threads(settings["threads"])
    if settings["is_confined"]:
        refuse_imports(settings["packages"])
        confine(settings["packages"])
    for name, lines in settings["texts"].items():
        linecache.cache[name] = sum(map(len, lines)), None, lines, name
    signal.signal(signal.SIGPROF, partial(_stop_endless, connection, settings["texts"]))
    answers = []
    while (request := receive(connection)) is not None:
        signal.setitimer(signal.ITIMER_PROF, settings["seconds"])
        send(connection, packed(_reply(answers, settings["answer"], request)))


def _stop_endless(connection, texts, number, frame):
    """Tell where the answer was when its time was up, and end."""
    while frame.f_back and frame.f_code.co_filename not in texts:
        frame = frame.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    send(connection, packed({"error": "endless", "message": "", "line": line}))
    os._exit(1)


def _reply(answers, pickled, request):
    """What came of one call: its result and its arguments that were changed, or an error."""
    answer = None
    try:
        if not answers:
            answers.append(pickle.loads(pickled))
        answer, (run, arguments) = answers[0], pickle.loads(request)
        arguments = [_in_known_memory(*numbered) for numbered in enumerate(arguments)]
        before = [a.clone() if isinstance(a, torch.Tensor) else None for a in arguments]
        result = run(answer, *arguments) if run else answer(*arguments)
        wrong = _of_other_kinds(answer, arguments, before)
        if not run:
            wrong = wrong or _of_shared_memory(result)
        if wrong:
            return _error(f"{getattr(answer, '__name__', 'the answer')} {wrong}")
        return {"result": plain(result), "changed": _changed(arguments, before)}
    except BaseException as error:
        return _raised(error, answer)


def _in_known_memory(place, argument):
    """A tensor in the memory of the last one like it, so that no address tells two inputs apart."""
    if type(argument) is not torch.Tensor:
        return argument
    kind = place, argument.dtype, argument.shape, argument.stride(), argument.storage_offset()
    return _memory.setdefault(kind, argument).copy_(argument)


def _changed(arguments, before):
    pairs = enumerate(zip(arguments, before, strict=True))
    return {i: plain(now) for i, (now, old) in pairs if old is not None and not same(now, old)}


def _of_other_kinds(answer, arguments, before):
    """What to say of a tensor that the call has left with another dtype or shape, or a gradient."""
    for place, (now, old) in enumerate(zip(arguments, before, strict=True)):
        if old is not None and _kind_of(now) != _kind_of(old):
            return f"changed its input {_name_of(answer, place)}: work on a copy"
    return ""


def _kind_of(tensor):
    return tensor.dtype, tensor.shape, tensor.requires_grad


def _name_of(answer, place):
    """The name of a parameter, or its number where there is none."""
    with suppress(TypeError, ValueError):
        return [*signature(answer).parameters, *map(str, range(place + 1))][place]
    return str(place)


def _of_shared_memory(result):
    """What to say of a call that changed an earlier result, or of a result in memory of others.

    It watches `result` from now on.
    """
    if any(not same(tensor.nan_to_num(), copy) for tensor, copy in _returned):
        return "changed what an earlier call of it returned: make a new tensor in each call"
    parts = result if isinstance(result, (list, tuple)) else [result]
    tensors = [
        part for part in parts if type(part) is torch.Tensor and part.layout == torch.strided
    ]
    places = _places_of(tensors)
    if places & _places_of(_memory.values()):
        return "returned a view of its input, which changes with it: make a new tensor"
    if places & _places_of(tensor for tensor, _ in _returned):
        return "returned the tensor of an earlier call again: compute the result anew each time"
    _returned.extend((tensor, tensor.nan_to_num()) for tensor in tensors)
    return ""


def _places_of(tensors):
    """Where the memory of these tensors begins, without those that have none."""
    return {tensor.untyped_storage().data_ptr() for tensor in tensors} - {0}


def _error(message):
    return {"error": "CheckFailed", "message": message, "line": ""}


def _raised(error, answer):
    """What the checker says of an error: its type, its own words, and the answer's line."""
    names = {
        getattr(answer, "__name__", None),
        getattr(getattr(answer, "fn", None), "__name__", None),
    }
    own, raised = [], error
    while raised and not own:  # what a called kernel raises is wrapped in what its caller raises
        own = [f for f in traceback.extract_tb(raised.__traceback__) if f.name in names]
        raised = raised.__context__
    return {
        "error": type(error).__name__,
        "message": _words_of(error),
        "line": (own[-1].line or f"line {own[-1].lineno}") if own else "",
    }


def _words_of(error):
    try:
        return str(error) + "".join(getattr(error, "__notes__", ()))
    except BaseException as another:
        return f"(its __str__ raises {type(another).__name__})"


def _print_into(descriptor):
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    sys.stdin = open(0)
    sys.stdout = sys.stderr = io.TextIOWrapper(_Bounded(descriptor), write_through=True)


class _Bounded(io.RawIOBase):
    """Writes the first half million bytes and drops the rest."""

    def __init__(self, descriptor):
        self._descriptor, self._left = descriptor, _PRINTED_CHARACTERS

    def writable(self):
        return True

    def write(self, content):
        kept = bytes(content)[: self._left]
        self._left -= len(kept)
        if kept:
            os.write(self._descriptor, kept)
        return len(content)
