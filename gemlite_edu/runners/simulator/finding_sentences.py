"""Describe what the instruments found, in one sentence for the user."""

from dataclasses import dataclass

from gemlite_edu.runners.simulator.positions import lanes_in, where

_SCALAR_OR_VECTOR = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Found:
    """One fault as the runner reports it, with names for its numbers.

    offset, size: in bytes of the tensor or array. other_*: the other thread of a race or a barrier.
    more: for a race, the other thread's block if it differs, else -1; for "left", the lanes; for
    "pending", the number of batches closed after the copy's batch, or -1 if that is still open.
    is_plain_output: for a race, no access is atomic, and they meet in a tensor.
    """

    kind: str
    name: str
    bytes_there: int  # of the tensor, array or variable
    element_bytes: int
    is_variable: bool  # static or __device__
    grid_x: int
    place: str
    other_place: str
    block: int
    count: int
    thread: int
    other_thread: int
    writes: bool
    other_writes: bool
    offset: int
    size: int
    more: int
    is_plain_output: bool = False

    def sentence(self):
        return _SENTENCES[self.kind](self)

    @property
    def who(self):
        return where(self.block % self.grid_x, self.block // self.grid_x, self.thread)

    @property
    def verb(self):
        return "writes" if self.writes else "reads"

    @property
    def element(self):
        if self.is_variable and self.bytes_there == self.element_bytes:
            return self.name
        return f"{self.name}[{self.offset // self.element_bytes}]"


def _outside(found):
    if found.element_bytes not in _SCALAR_OR_VECTOR:
        return (
            f"{found.who} {found.verb} {found.size} bytes at byte {found.offset} of {found.name}, "
            f"which has {found.bytes_there} bytes"
        )
    return (
        f"{found.who} {found.verb} {found.element}, outside {found.name}, which has "
        f"{found.bytes_there // found.element_bytes} elements of {found.element_bytes} bytes"
    )


def _misaligned(found):
    return (
        f"{found.who} {found.verb} {found.size} bytes at byte {found.offset} of {found.name}: "
        f"an access of {found.size} bytes must begin at a multiple of {found.size}"
    )


def _unwritten(found):
    if found.thread >= 0:
        return f"{found.who} reads {found.element}, which no thread has written before"
    elements = found.bytes_there // found.element_bytes
    more = f" ({found.count} of its {elements} elements were not)" if found.count > 1 else ""
    return f"{found.element} was never written{more}"


def _race(found):
    other = f"thread {found.other_thread}"
    in_other_block = found.more >= 0
    if in_other_block:
        block_y, block_x = divmod(found.more, found.grid_x)
        other = f"{where(block_x, block_y, found.other_thread)},"
    place = _line(found.other_place)
    if found.writes and found.other_writes:
        writes = f"{found.who} writes {found.element}, which {other} also writes ({place}): "
        if found.is_plain_output:
            return f"{writes}two threads own one output, and only one may write it"
        if found.place == found.other_place:
            return f"{writes}only one may{_of_whose(found)}"
    both = "also writes" if found.writes else "writes"
    done = both if found.other_writes else "reads"
    return (
        f"{found.who} {found.verb} {found.element}, which {other} {done} ({place}), and "
        + _what_is_missing(found, in_other_block)
        + _of_whose(found)
    )


def _of_whose(found):
    return _ONE_FOR_ALL if found.is_variable else ""


def _what_is_missing(found, in_other_block):
    if in_other_block:
        return "nothing orders two blocks"
    if found.thread // 32 == found.other_thread // 32:
        return (
            "nothing orders the two: __syncthreads() orders all threads of a block, __syncwarp() "
            "those of a warp alone"
        )
    return "no __syncthreads stands between"


def _pending(found):
    copy = f"the asynchronous copy of thread {found.other_thread} ({_line(found.other_place)})"
    wait = f"wait for it with __pipeline_wait_prior({max(found.more, 0)})"
    if found.more < 0:
        wait = f"put it into a batch with __pipeline_commit(), {wait}"
    others = "" if found.thread == found.other_thread else ", then __syncthreads()"
    if found.writes:
        return (
            f"{found.who} writes {found.element} while {copy} is still on its way there: "
            f"{wait}{others}"
        )
    return f"{found.who} reads {found.element}, which {copy} has not delivered yet: {wait}{others}"


def _kept(found):
    return (
        f"{found.who} reads {found.name} before this launch writes it, and the launch leaves "
        "another value there: a static or __device__ variable keeps its value from one launch to "
        "the next, so the next one begins with what this one left"
    )


def _left(found):
    first = found.thread // 32 * 32
    absent = lanes_in(found.more << first).replace("lane", "thread")
    return f"{found.who} waits at a __syncthreads that {absent} of its warp never reached"


def _barriers(found):
    another = f"at another ({_line(found.other_place)}): all threads must come to the same one"
    if found.place == found.other_place:
        another = "there in another call of the function: all threads must come to the same call"
    return f"{found.who} waits at a __syncthreads while thread {found.other_thread} waits {another}"


def _line(place):
    file, _, line = place.rpartition(":")
    return f"{file}, line {line}"


_ONE_FOR_ALL = "; a static or __device__ variable is one for all threads of all blocks"
_SENTENCES = {
    "kept": _kept,
    "outside": _outside,
    "misaligned": _misaligned,
    "pending": _pending,
    "race": _race,
    "unwritten": _unwritten,
    "barriers": _barriers,
    "left": _left,
}
