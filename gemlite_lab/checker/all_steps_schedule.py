"""Mistakes in the order in which an answer to all_steps copies, decodes and multiplies.

A thread may read its own copy after a wait, and another thread's copy after the barrier that
follows that wait. A barrier must separate the reads of a buffer from the next write to it. Each
thread reads the words that it copied itself, but x and the decoded W that others wrote.
"""

from dataclasses import dataclass

_BUFFERS = 3  # buffers of x, and as many of words
_W_BUFFERS = 2


@dataclass
class _Copy:
    step: int
    batch: int  # number of batches that were closed before its own
    arrived: int | None = None  # number of barriers before the wait


@dataclass
class _Use:
    step: int
    phase: int  # number of barriers before it


class Schedule:
    """Follows the calls of one thread, one after the other."""

    def __init__(self, calls, num_steps):
        self._calls, self._num_steps = calls, num_steps

    def _begin(self):
        self._phase = self._batches = self._at = 0
        self._copies = [None] * _BUFFERS
        self._x_read = [None] * _BUFFERS
        self._W, self._W_read = [None] * _W_BUFFERS, [None] * _W_BUFFERS
        self._copied, self._multiplied, self._arrived_at = set(), set(), {}
        self._last_wait = 0, 0  # batches it left open, batches there were

    def mistake(self):
        """(The first mistake, the `Call` that shows it or None); (None, None) if there is none."""
        follow = {
            "copy_step": self._copy,
            "decode_step": self._decode,
            "multiply_step": self._multiply,
            "__pipeline_commit": self._commit,
            "__pipeline_wait_prior": self._wait,
            "__syncthreads": self._barrier,
        }
        self._begin()
        for at, call in enumerate(self._calls):
            self._at = at
            sentence = follow[call.what](call.number)
            if sentence:
                return sentence, call
        return self._mistake_at_the_end(), None

    def not_at_the_same_time(self):
        """What a right schedule needlessly does in turn: (sentence, waiting `Call`), or Nones."""
        if self.mistake()[0]:
            return None, None
        for step in range(1, self._num_steps):
            begun, arrived = self._index("copy_step", step), self._arrived_at[step]
            meanwhile = (("decode_step", step - 1), ("multiply_step", step - 2))
            for what, other in meanwhile[: min(step, len(meanwhile))]:
                at = self._index(what, other)
                if at < begun:
                    sentence = f"{what} of step {other} comes before copy_step of step {step}"
                    return sentence, self._calls[begun]
                if at > arrived:
                    sentence = f"it waits for the copy of step {step} before {what} of step {other}"
                    return sentence, self._calls[arrived]
        return None, None

    def _index(self, what, step):
        return next(
            i for i, call in enumerate(self._calls) if (call.what, call.number) == (what, step)
        )

    def _comes_later(self, what, step):
        return any((call.what, call.number) == (what, step) for call in self._calls[self._at + 1 :])

    def _is_no_step(self, step):
        return not 0 <= step < self._num_steps

    def _commit(self, _):
        self._batches += 1

    def _barrier(self, _):
        self._phase += 1

    def _wait(self, batches_left):
        self._last_wait = batches_left, self._batches
        for copy in filter(None, self._copies):
            if copy.arrived is None and copy.batch + batches_left < self._batches:
                copy.arrived = self._phase
                self._arrived_at.setdefault(copy.step, self._at)

    def _copy(self, step):
        sentence = None if self._is_no_step(step) else self._begin_copy(step)
        self._batches += 1
        return sentence

    def _begin_copy(self, step):
        place = step % _BUFFERS
        before, read = self._copies[place], self._x_read[place]
        self._copies[place] = _Copy(step, self._batches)
        if step in self._copied:
            return f"step {step} is copied a second time"
        self._copied.add(step)
        if before and before.step not in self._multiplied:
            if self._comes_later("multiply_step", before.step):
                return (
                    f"copy_step of step {step} overwrites step {before.step} before that is "
                    f"multiplied: there are {_BUFFERS} buffers of x"
                )
        if read and read.phase == self._phase:
            return (
                f"copy_step of step {step} overwrites the x of step {read.step}, which other "
                "threads may still multiply: no __syncthreads() stands between"
            )
        return None

    def _decode(self, step):
        copy, place = self._copies[step % _BUFFERS], step % _W_BUFFERS
        before, read = self._W[place], self._W_read[place]
        self._W[place] = _Use(step, self._phase)
        if step in self._multiplied:
            return f"step {step} is decoded again, and it has been multiplied"
        sentence = self._no_words(step, copy)
        if sentence:
            return sentence
        if before and before.step not in self._multiplied:
            if self._comes_later("multiply_step", before.step):
                again = " once more" if before.step == step else ""
                return (
                    f"decode_step of step {step} overwrites the W of step {before.step}{again} "
                    f"before that is multiplied: there are {_W_BUFFERS} buffers of W"
                )
        if read and read.phase == self._phase:
            return (
                f"decode_step of step {step} overwrites the W of step {read.step}, which other "
                "threads may still multiply: no __syncthreads() stands between"
            )
        return None

    def _no_words(self, step, copy):
        if copy is None or (self._is_no_step(step) and copy.arrived is None):
            return self._never_copied("decode_step", step)
        if self._is_no_step(step):
            return None  # it decodes old words in vain
        if copy.step != step:
            return (
                f"decode_step of step {step} finds the words of step {copy.step}: "
                f"{self._when_copied(step)}"
            )
        return self._too_early(copy) if copy.arrived is None else None

    def _never_copied(self, what, step):
        if self._is_no_step(step):
            end = "the first one is 0" if step < 0 else f"the last one is {self._num_steps - 1}"
            return f"{what} is called for step {step}, and {end}"
        return f"{what} of step {step} finds nothing: {self._when_copied(step)}"

    def _when_copied(self, step):
        if step in self._copied:
            return "its own were overwritten"
        when = "comes later" if self._comes_later("copy_step", step) else "is missing"
        return f"copy_step of step {step} {when}"

    def _too_early(self, copy):
        left, batches = self._last_wait
        if batches < self._batches:
            before = ": the one before left it on its way" if copy.batch < batches else ""
            return (
                f"no __pipeline_wait_prior stands between copy_step of step {max(self._copied)} "
                f"and decode_step of step {copy.step}{before}"
            )
        after = batches - copy.batch - 1
        sentence = (
            f"decode_step of step {copy.step} finds no words yet: __pipeline_wait_prior({left}) "
            f"leaves {_counted(left, 'batch', 'batches')} on the way, and "
            f"{after or 'none'} came after that of step {copy.step}"
        )
        if copy.step == self._num_steps - 1 and after < left:
            sentence += (
                ". Beyond the last step copy_step makes an empty batch, which counts too: call it"
            )
        return sentence

    def _multiply(self, step):
        if self._is_no_step(step):
            return self._never_copied("multiply_step", step)
        if step in self._multiplied:
            return f"step {step} is multiplied a second time"
        self._multiplied.add(step)
        if step - 1 in self._never_multiplied():
            return self._left_out()
        sentence = self._no_W(step)
        self._x_read[step % _BUFFERS] = self._W_read[step % _W_BUFFERS] = _Use(step, self._phase)
        return sentence

    def _no_W(self, step):
        W = self._W[step % _W_BUFFERS]
        if W is None or W.step != step:
            later = "comes later" if self._comes_later("decode_step", step) else "is missing"
            finds = "no W" if W is None else f"the W of step {W.step}"
            return f"multiply_step of step {step} finds {finds}: decode_step of step {step} {later}"
        if W.phase == self._phase:
            return (
                f"no __syncthreads() stands between decode_step and multiply_step of step {step}: "
                "a thread multiplies what others decode"
            )
        return None

    def _mistake_at_the_end(self):
        if self._never_multiplied():
            return self._left_out()
        if any(read and read.phase == self._phase for read in self._x_read):
            return (
                "no __syncthreads() stands behind the last multiply_step: sums take the place of x "
                "and W in shared memory, which other threads may still multiply"
            )
        return None

    def _never_multiplied(self):
        multiplied = {call.number for call in self._calls if call.what == "multiply_step"}
        return [step for step in range(self._num_steps) if step not in multiplied]

    def _left_out(self):
        missing, last = self._never_multiplied(), self._num_steps - 1
        which = {last: ", the last one,", 0: ", the first one,"}.get(missing[0], "")
        more = f", nor {_counted(len(missing) - 1, 'other')}" if len(missing) > 1 else ""
        return f"step {missing[0]}{which} is never multiplied{more}"


def _counted(number, one, many=None):
    return f"{number} {one if number == 1 else many or one + 's'}"
