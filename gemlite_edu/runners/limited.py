"""Run a compiler on a learner's text with limits, because a template may ask for work without end.

The limits are those of setrlimit(2); a compiler's own programs inherit them.
"""

import os
import re
import signal
import subprocess
import tempfile
from contextlib import suppress

PROCESSOR_SECONDS = 60  # of each program; a kernel's compile takes a few
MEMORY_MIB = 3072  # of address space
FILE_MIB = 64  # of each file that it writes, what it says included
_SAID_BYTES = 1 << 20  # of which so many are read
# A lower limit of the surroundings may forbid one of these, and then stands in its place.
_SHELL = """
ulimit -S -t "$1" 2>/dev/null
ulimit -S -v "$2" 2>/dev/null
ulimit -S -f "$3" 2>/dev/null
shift 3
exec "$@"
"""
_BLOCKS_OF_MIB = 2048  # ulimit counts files in blocks of 512 bytes, and memory in KiB
# What a program, or the one that started it, says of its end.
_ENDINGS = {
    "processor": re.compile(r"CPU time limit exceeded|terminated with signal 24"),
    "file": re.compile(r"File size limit exceeded|terminated with signal 25|File too large"),
    "memory": re.compile(r"out of memory|memory exhausted|bad_alloc|Cannot allocate memory"),
}
_SIGNALS = {-signal.SIGXCPU: "processor", -signal.SIGXFSZ: "file"}


def limited(command):
    """The command with limits on its processor time, its memory and its files."""
    limits = PROCESSOR_SECONDS, MEMORY_MIB << 10, FILE_MIB * _BLOCKS_OF_MIB
    return ["/bin/sh", "-c", _SHELL, "sh", *map(str, limits), *map(str, command)]


def run_limited(command):
    """(exit status, what the command said on stderr, in English); its output is dropped.

    If this process is interrupted meanwhile, the command ends with all that it has started.
    """
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            limited(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=dict(os.environ, LC_ALL="C"),  # so that notebooks show the same text everywhere
            start_new_session=True,
        )
        try:
            process.wait()
        except BaseException:  # such as the learner's interrupt
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        said.seek(0)
        return process.returncode, said.read(_SAID_BYTES).decode(errors="replace")


def why_stopped(status, said):
    """A sentence on the limit that ended a compiler, from `run_limited`; None if none did."""
    if not status:
        return None
    sentences = {
        "processor": f"the compiler did not end within {PROCESSOR_SECONDS:g} s of processor time "
        "and was stopped: look for a template or a constexpr function that needs ever more of "
        "itself, and for a long loop that is unrolled",
        "memory": f"the compiler took more than {MEMORY_MIB / 1024:g} GiB of memory and was "
        "stopped: look for a template, a constexpr function or a macro that needs ever more of "
        "itself",
        "file": f"the compiler wrote a file of more than {FILE_MIB} MiB and was stopped: look for "
        "an array with first values that is too large, or for text that repeats itself",
    }
    ending = _SIGNALS.get(status)
    ending = ending or next((kind for kind, mark in _ENDINGS.items() if mark.search(said)), None)
    return sentences.get(ending)
