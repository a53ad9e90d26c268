"""The process that runs a kernel: it loads one library and launches it as often as it is asked."""

import select
import subprocess
import tempfile
import time
import weakref

from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.runners.forbidden_calls import filter_of_calls
from gemlite_edu.runners.simulator.arguments import Integer, NullPointer, Tensor
from gemlite_edu.runners.simulator.build import build_runner
from gemlite_edu.runners.simulator.record import NO_WINDOW
from gemlite_edu.runners.simulator.shared_room import SharedRoom

ASLEEP = "asleep"  # stands for the report of a process that was killed
DONE = "done"  # the last line of the report on a launch that ran to its end
_PIECE = 1 << 16  # bytes of a report that are read at once


class RunnerProcess:
    """A process for launches of `library` in blocks of one shape, by so many workers.

    sites: as in `run_once`. The process ends by `end()`, when this object is forgotten, or when its
    requests end, because this process has ended in whatever way.
    """

    def __init__(self, library, block, workers, sites="-"):
        self._room, self._printed = SharedRoom(), tempfile.TemporaryFile(buffering=0)
        memory, limit = self._room.fileno(), SIMULATED.shared_bytes_per_block
        command = [build_runner(), library, memory, sites, filter_of_calls().hex(), workers]
        self._process = subprocess.Popen(
            [str(word) for word in (*command, *block, limit)],
            bufsize=0,
            pass_fds=[memory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            start_new_session=True,
        )
        self.end = weakref.finalize(self, _end, self._process, self._printed, self._room)
        self.can_go_on = False
        self._reports = select.poll()
        self._reports.register(self._process.stdout, select.POLLIN)

    def launch(self, launch, arguments, time_limit, seconds, order=0, window=NO_WINDOW, spoiled=0):
        """(the process's report, or ASLEEP; the text that the kernel printed).

        time_limit: seconds of processor time per worker; seconds: of the clock, after which the
        report is ASLEEP; order, window, spoiled: as in `run_once`. If the launch is done, outputs
        are written, and the process `can_go_on`.
        """
        self.can_go_on = False
        offsets = self._room.write(arguments)
        about = time_limit, order, spoiled, *launch.grid, launch.shared_bytes, *window.words
        self._ask([*about, *_words(arguments, offsets)])
        try:
            report = self._report(time.monotonic() + seconds)
        except (TimeoutError, subprocess.TimeoutExpired):
            report = ASLEEP.encode()
        if _is_done(report):
            self.can_go_on = True
            for argument in arguments:
                if isinstance(argument, Tensor) and argument.is_output:
                    self._room.read(argument, offsets[argument.name])
        return report.decode(errors="replace"), self._take_printed()

    def _ask(self, words):
        request = "".join(f"{word}\0" for word in words) + "\0"
        try:
            self._process.stdin.write(request.encode())
        except BrokenPipeError:
            pass  # it has ended, and what it reported says why

    def _report(self, deadline):
        report = b""
        while not _is_done(report):
            if not self._reports.poll(1000 * _left(deadline)):
                raise TimeoutError
            piece = self._process.stdout.read(_PIECE)
            if not piece:
                ended = f"ended {self._process.wait(_left(deadline))}".encode()
                return report or ended
            report += piece
        return report

    def _take_printed(self):
        self._printed.seek(0)
        text = self._printed.read().decode(errors="replace")
        self._printed.seek(0)
        self._printed.truncate()
        return text


def _end(process, *files):
    process.kill()
    process.wait()
    for file in (process.stdin, process.stdout, *files):
        file.close()


def _left(deadline):
    return max(deadline - time.monotonic(), 0)


def _is_done(report):
    return report == DONE.encode() or report.endswith(f"\n{DONE}".encode())


def _words(arguments, offsets):
    for argument in arguments:
        if isinstance(argument, Integer):
            yield f"i:{argument.value}"
        elif isinstance(argument, NullPointer):
            yield "n"
        else:
            access = "w" if argument.is_output else "s" if argument.is_scratch else "r"
            size = argument.value.nbytes
            each = argument.value.element_size()
            yield f"p:{argument.name}:{offsets[argument.name]}:{size}:{each}:{access}"
