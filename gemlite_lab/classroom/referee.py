"""`Referee`: verdicts from a process that judges, which is ended and replaced when it hangs."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gemlite_lab.classroom.plan import ROOT

_SECONDS_TO_START = 300


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and what to tell the student."""

    is_right: bool
    said: str


class Referee:
    """Asks the process of worker.py for verdicts. seconds: the longest that one may take.

    The process starts in an empty folder, the only one besides Python's own that an answer may
    read, and sees no GPU: an answer on a GPU would not be confined.
    """

    def __init__(self, seconds):
        self._seconds, self._worker, self._buffer = seconds, None, b""
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._end()
        self._folder.cleanup()

    def verdict(self, paths, exercise, variable, seed):
        """The `Verdict` on the answer in the notebooks at `paths`; it always comes."""
        if self._worker is None:
            self._start()
        request = {"paths": list(map(str, paths)), "exercise": exercise}
        request |= {"variable": variable, "seed": seed}
        try:
            os.write(self._requests, json.dumps(request).encode() + b"\n")
            line = self._line(self._seconds)
        except BrokenPipeError:
            line = b""
        if line:
            return Verdict(**json.loads(line))
        self._end()
        why = "ended on this answer" if line == b"" else f"did not end within {self._seconds} s"
        return Verdict(False, f"the check {why}, so it counts as wrong: look at it")

    def _start(self):
        theirs, self._requests = os.pipe()
        self._replies, its_own = os.pipe()
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._worker = subprocess.Popen(
            [sys.executable, "-m", "gemlite_lab.classroom.worker", str(theirs), str(its_own)],
            pass_fds=[theirs, its_own],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env=os.environ | {"PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""},
            start_new_session=True,
        )
        os.close(theirs)
        os.close(its_own)
        if self._line(_SECONDS_TO_START) != b"ready":
            self._end()
            raise RuntimeError(
                "the process that checks answers does not start: run "
                "python -c 'import gemlite_lab.classroom.worker' to see why"
            )

    def _line(self, seconds):
        """The next line of the process; b"" if it has ended, None if nothing came in time."""
        while b"\n" not in self._buffer:
            if not select.select([self._replies], [], [], seconds)[0]:
                return None
            part = os.read(self._replies, 1 << 16)
            if not part:
                return b""
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _end(self):
        """End the process, and all that it has started."""
        worker, self._worker, self._buffer = self._worker, None, b""
        if worker is None:
            return
        for process in [worker.pid, *_descendants(worker.pid)]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        worker.wait()
        os.close(self._requests)
        os.close(self._replies)


def _descendants(process):
    """The processes that it has started, and those that these have."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(") ")[2].split()[1])
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]
