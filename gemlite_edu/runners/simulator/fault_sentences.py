"""Describe what ended a run, in one sentence for the user."""

import re

from gemlite_edu.runners.simulator.positions import where
from gemlite_edu.runners.simulator.together_sentences import TOGETHER
from gemlite_edu.runners.simulator.undefined_sentences import (
    sentence_of_shuffle,
    undefined_sentence,
)
from gemlite_edu.runners.simulator.variables import demangled

_WILD = "reached memory that is neither a tensor's nor shared: look at its pointers and indices"
_MANY_LINES = 1000
_SIGNALS = {
    4: "undefined behaviour, such as a division by zero",
    6: "an abort",
    8: "an integer division by zero",
}


def too_long(time_limit, printed=""):
    """The sentence about a kernel that the time limit stopped. printed: what it printed."""
    lines = printed.count("\n")
    look_for = "look for a loop whose condition never becomes false"
    if lines > _MANY_LINES:
        look_for = f"it had printed {lines:,} lines, which takes long: print from one thread alone"
    return (
        f"the kernel did not end within {time_limit:g} s of processor time and was stopped: "
        f"{look_for}; load(..., time_limit=...) sets the limit"
    )


def fault_sentence(status, tensors, time_limit, printed="", line=""):
    """The sentence for the runner's last line, if that line is not "done".

    tensors: {name: torch.Tensor} of the arguments. printed: what the kernel printed. line: of its
    text, where the run ended, if that is known.
    """
    word, *fields = status.split(" ")
    if word == "undefined" and fields[3] == "cast":
        of_shuffle = sentence_of_shuffle(fields[4], line)
        if of_shuffle:
            return f"{where(*fields[:3])} {of_shuffle}"
    if word == "endless":
        sentence = too_long(time_limit, printed)
        return f"{where(*fields)}: {sentence}" if fields else sentence
    if word in ("outside", "reads", "writes", "readonly"):
        return _memory_sentence(word, fields, tensors)
    if word in _SENTENCES:
        return _SENTENCES[word](*fields)
    return f"the simulator failed: {status}"


def _asleep():
    return (
        "the kernel waited without computing until it was stopped: "
        "look for a call that sleeps or waits for something outside the kernel"
    )


def _ended(status):
    number = int(status)
    how = f"was ended by signal {-number}" if number < 0 else "ended"
    return (
        f"the simulator's process {how} before the kernel did: "
        "look for exit, for a closed file, and for memory that grows without end"
    )


def _signal(number, address, *position):
    wild = "reached a null pointer" if address == "(nil)" else _WILD
    return f"{where(*position)}: {_SIGNALS.get(int(number), wild)}"


def _trap(*position):
    return f"{where(*position)} called __trap(), which ends the kernel"


def _assertion(block_x, block_y, thread, *condition):
    return f"{where(block_x, block_y, thread)}: the assertion {' '.join(condition)} is false"


def _heap(*position):
    return (
        f"{where(*position)} frees memory that malloc or new did not give, or that is free already"
    )


def _beyond_shared(offset, asked, block_x, block_y, _):
    return (
        f"block ({block_x}, {block_y}) wrote byte {offset} of its dynamic shared memory, "
        f"of which the launch asked for {asked}"
    )


def _misaligned(*position):
    return (
        f"{where(*position)} reaches 16 bytes at an address that is no multiple of 16, or uses "
        "what is no address at all: look at its pointers and at the ends of its local arrays"
    )


def _stack(kib, _, *position):
    return (
        f"{where(*position)} used more than {kib} KiB of local memory: "
        "a very large local array, or a recursion that does not end"
    )


def _foreign(*position):
    return (
        f"{where(*position)} reaches a local variable of another thread, which has it for itself: "
        "hand values over in shared memory, or by a shuffle"
    )


def _host(name, *position):
    return f"{where(*position)} uses {name} of the host's C library, which a GPU does not have"


def _load(*words):
    missing = re.search(r"undefined symbol: (\S+)", " ".join(words))
    if not missing:
        return f"the simulator failed: load {' '.join(words)}"
    (name,) = demangled([missing[1]])
    return (
        f"the text uses {name}, which it declares and nowhere defines: write its definition, and a "
        "__shared__ array of a known size without extern"
    )


def _undefined(block_x, block_y, thread, *what):
    return f"{where(block_x, block_y, thread)} {undefined_sentence(*what)}"


def _space(space, *position):
    return (
        f"{where(*position)} gives an address in {space} memory to a function that reaches global "
        "memory alone, such as __ldg: use [] or * there"
    )


def _unshared(space, *position):
    return (
        f"{where(*position)} gives __cvta_generic_to_shared an address in {space} memory: it takes "
        "one in shared memory"
    )


def _atomic(space, *position):
    return (
        f"{where(*position)} makes an atomic operation in {space} memory, and a GPU makes them in "
        "global and shared memory alone: use a plain = there"
    )


def _misaligned_local(size, *position):
    return (
        f"{where(*position)} reaches {size} bytes of local memory that do not begin at a multiple "
        f"of {size}: say alignas({size}) where you declare the variable, and step by {size} bytes"
    )


_SENTENCES = TOGETHER | {
    "asleep": _asleep,
    "ended": _ended,
    "assert": _assertion,
    "heap": _heap,
    "trap": _trap,
    "signal": _signal,
    "shared": _beyond_shared,
    "misaligned": _misaligned,
    "stack": _stack,
    "space": _space,
    "unshared": _unshared,
    "atomic": _atomic,
    "unaligned": _misaligned_local,
    "undefined": _undefined,
    "foreign": _foreign,
    "host": _host,
    "load": _load,
}


def _memory_sentence(word, fields, tensors):
    name, offset, block_x, block_y, thread = fields
    tensor = tensors[name]
    element = int(offset) // tensor.element_size()
    count = tensor.numel()
    if int(thread) < 0:
        return f"the kernel wrote {name}[{element}], outside {name}, which has {count} elements"
    if word == "readonly":
        return f"{where(block_x, block_y, thread)} wrote {name}[{element}], but {name} is an input"
    verb = "reached" if word == "outside" else word
    return (
        f"{where(block_x, block_y, thread)} {verb} {name}[{element}], "
        f"outside {name}, which has {count} elements"
    )
