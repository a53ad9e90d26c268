"""Read the steps that the runner has recorded of one warp."""

from dataclasses import replace

import torch

from gemlite_edu.runners.simulator.finding_sentences import Found
from gemlite_edu.runners.simulator.record import Record, Step
from gemlite_edu.runners.simulator.recorded_numbers import dtypes_of_arrays, numbers_in, shuffled
from gemlite_edu.runners.simulator.stand_ins import merged

_WARP_SIZE = 32


def read_record(rows, text, window, title, ending):
    """The `Record` of the runner's report `rows`.

    text: `Names`. ending: ("file:line", sentence) of the fault that ended the run early, or None.
    """
    reader = _Reader(text, window)
    for row in rows:
        reader.read(row)
    return reader.record(title, ending)


class _Reader:
    def __init__(self, text, window):
        self._text, self._window = text, window
        self._dtypes = dtypes_of_arrays("\n".join(text.lines.values()), text.launch.defines)
        self._dtypes |= {name: tensor.dtype for name, tensor in text.tensors.items()}
        self._steps, self._faults, self._end = [], {}, (0, -1, 0)
        self._returns = []  # of the functions that each step is in

    def read(self, row):
        word, *fields = row.split()
        if word == "step":
            self._steps.append(self._step(fields))
            self._faults = {}
        elif word in ("fault", "raced"):
            self._add_fault(fields, is_of_other=word == "raced")
        elif word == "steps":
            self._end = tuple(map(int, fields))

    def record(self, title, ending):
        total, first_fault, is_checking = self._end
        has_all = self._window.first + len(self._steps) == total
        if ending and total and has_all:
            self._add_end(*ending, total, is_checking)
        if ending and total and first_fault < 0:
            first_fault = total - is_checking
        return Record(
            title,
            self._window,
            tuple(merged(self._with_calls(), self._text.lines)),
            total,
            first_fault if first_fault >= 0 else None,
            self._text.lines,
        )

    def _with_calls(self):
        """The steps with the functions that they are in, which one run of addr2line finds."""
        functions = self._text.calls(sorted({at for own in self._returns for at in own}))
        for step, own in zip(self._steps, self._returns, strict=False):  # "stop" has none
            calls = [call for at in own for call in functions[at]]
            yield replace(step, calls=tuple(call for call in calls if call[1] in self._text.lines))
        yield from self._steps[len(self._returns) :]

    def _step(self, fields):
        op, (site, number, size, cost, kind, *states) = fields[0], map(int, fields[1:9])
        self._returns.append([int(at, 16) for at in fields[9].split(",")[:-1]])
        copies = [pair.split(":") for pair in fields[10].split(",")[:-1]]
        lanes, at, raw, writers = _lanes(fields[11:])
        ended, waiting, phase = states
        place = self._text.place(site)
        step = Step(
            number=self._window.first + len(self._steps),
            place=place,
            code=self._text.code(place),
            op=op,
            lanes=lanes,
            phase=phase,
            ended=_bits(ended),
            waiting=_bits(waiting),
            copies={int(batch): int(count) for batch, count in copies},
        )
        if number < 0:
            return _with_meeting(step, kind, at, raw)
        step = self._with_access(step, number, size, at, raw)
        return replace(step, cost=cost, writers=writers)

    def _with_access(self, step, number, size, at, raw):
        name, space = self._text.name(number), self._text.space(number)
        dtype = self._dtypes.get(name) if space != "variable" else None
        values = {lane: numbers_in(raw[lane], dtype) for lane in step.lanes}
        return replace(
            step,
            space=space,
            name=name,
            bytes_per_lane=size,
            element_bytes=dtype.itemsize if dtype else size,
            bytes_of=at,
            values={lane: numbers for lane, numbers in values.items() if numbers},
        )

    def _add_fault(self, fields, is_of_other):
        kind, *numbers = fields
        number, site, other, count, *details = map(int, numbers)
        place, other_place = self._text.place(site), self._text.place(other)
        block, _, *details = details
        about = self._text.describe(number, details)
        found = Found(kind, *about, place, other_place, block, count, *details)
        thread = found.other_thread if is_of_other else found.thread
        self._faults.setdefault((kind, number, place, other_place), found.sentence())
        self._blame(_gravest_first(self._faults), thread % _WARP_SIZE)

    def _blame(self, sentences, lane=None):
        step = self._steps[-1]
        faulty = {*step.faulty} if lane is None else {*step.faulty, lane}
        self._steps[-1] = replace(step, faults=sentences, faulty=tuple(sorted(faulty)))

    def _add_end(self, place, sentence, total, is_checking):
        if is_checking and not self._steps[-1].faults:
            self._blame((sentence,))
        elif not (is_checking and sentence in self._steps[-1].faults):
            code = self._text.code(place)
            self._steps.append(Step(total, place, code, "stop", faults=(sentence,)))


def _with_meeting(step, kind, at, raw):
    """The step with what its lanes have where they reach no memory."""
    if step.op == "wait":
        return replace(step, left=at[step.lanes[0]])
    if step.op == "mma_sync":
        return replace(step, values={i: numbers_in(raw[i], torch.int32) for i in step.lanes})
    if step.op != "shuffle":
        return step
    both = {lane: shuffled(raw[lane], kind) for lane in step.lanes}
    values = {lane: given for lane, (given, _) in both.items() if given}
    taken = {lane: got for lane, (_, got) in both.items() if got}
    return replace(step, sources=at, values=values, taken=taken)


def _gravest_first(faults):
    """The sentences, one for each place; that of a value which nothing wrote comes last."""
    return tuple(faults[key] for key in sorted(faults, key=lambda key: key[0] == "unwritten"))


def _lanes(words):
    """(lanes, {lane: its number}, {lane: its bytes}, {lane: the thread that wrote them}).

    words: "lane:number:thread:hexadecimal", with thread -1 where nobody is known.
    """
    parts = [word.split(":") for word in words]
    at = {int(lane): int(number) for lane, number, *_ in parts}
    raw = {int(lane): bytes.fromhex(value) for lane, *_, value in parts}
    writers = {int(lane): int(thread) for lane, _, thread, _ in parts if thread != "-1"}
    return tuple(at), at, raw, writers


def _bits(mask):
    return tuple(lane for lane in range(_WARP_SIZE) if mask >> lane & 1)
