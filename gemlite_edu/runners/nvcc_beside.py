"""Compile a learner's kernel for a GPU while the simulator runs it; no GPU is needed for that.

Inside `beside()` every inspected `Program` is also compiled by nvcc, in the background.
"""

import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillCompiling
from contextlib import contextmanager
from contextvars import ContextVar

from gemlite_edu.kernels.compiler_errors import explain_compiler_error
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.runners import cuda
from gemlite_edu.runners.build_cache import cached_build, program_identity
from gemlite_edu.runners.limited import limited

_SECONDS = 60.0  # of the clock; nvcc takes less than one
_PATIENCE = 10.0  # seconds, after which its optimizer will hardly end
_LITTLE_OPTIMIZED = ("-Xcicc", "-O1")  # says the same of a text
_NICE = 19  # so that it takes no time from the simulator
_CHOICES = re.compile(r"^\s*(?:#|%:)\s*(?:el)?if|\bif\s+constexpr\b|\btemplate\b", re.MULTILINE)
_OF_THE_TEXT = re.compile(r"^(?:\w+|\w+\.cuh?)\(\d+\): error", re.MULTILINE)
_REGISTERS_USED = re.compile(r"Used (\d+) registers")
_REGISTERS = 65_536  # of a multiprocessor
_REGISTERS_AT_A_TIME = 8  # are given to each thread
_OF_ASSEMBLY = re.compile(r"^ptxas\b.*?\b(?:error|fatal)\s*:\s*(.*)$", re.MULTILINE)
_ACTIVE = ContextVar("the nvcc that runs beside the simulator", default=None)


@contextmanager
def beside():
    """A `Beside` for the inspections in this context; None if there is no nvcc."""
    try:
        compiling = Beside(cuda.find_nvcc())
    except RuntimeError:
        yield None
        return
    token = _ACTIVE.set(compiling)
    try:
        yield compiling
    finally:
        _ACTIVE.reset(token)
        compiling.stop()


def begin(source, launch, replace):
    """Compile `source` as `launch` needs it, if a `Beside` is active."""
    if _ACTIVE.get() is not None:
        _ACTIVE.get().begin(source, launch, replace)


class Beside:
    """Runs nvcc in the background, for one kernel after the other."""

    def __init__(self, nvcc):
        self._nvcc, self._process, self._is_stopped = nvcc, None, False
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._begun = {}

    def begin(self, source, launch, replace):
        """Compile in the background, unless an earlier kernel of the same text will do.

        It does unless the text may choose by the numbers that are compiled into it.
        """
        has_choices = any(_CHOICES.search(text) for text in replace.values())
        key = tuple(launch.defines.items()) if has_choices else ()
        if key not in self._begun:
            self._begun[key] = self._thread.submit(self._compile, source, launch, replace)

    def wait(self):
        """True once all is compiled, False if nvcc does not work here.

        Raises KernelTextError with nvcc's first error about the text.
        """
        try:
            return all([build.result(_SECONDS) for build in self._begun.values()])
        except StillCompiling:
            return False

    def stop(self):
        """Kill what is still running."""
        self._is_stopped = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _compile(self, source, launch, replace):
        flags = ["-cubin", "-std=c++17", "-Xptxas", "-v"]
        flags.append(cuda.architecture_flag(SIMULATED.capability))
        flags += [f"-D{name}={value}" for name, value in launch.defines.items()]

        def build(folder):
            path = folder / "kernel.cu"
            path.write_text(source, encoding="utf-8", errors="replace")
            command = [self._nvcc, *flags, path, "-o", folder / "kernel.cubin"]
            try:
                is_right, said = self._run(command, folder, _PATIENCE)
            except subprocess.TimeoutExpired:
                is_right, said = self._run([*command, *_LITTLE_OPTIMIZED], folder)
            if not is_right:
                raise _Failed(said)
            _refuse_too_many_registers(said, launch.threads_per_block, replace)

        block = f"{launch.threads_per_block} threads"
        key = ("compiled beside", source, *flags, block, program_identity(self._nvcc))
        try:
            cached_build(key, build)
        except _Failed as failed:
            return _explain(str(failed), replace)
        return True

    def _run(self, command, folder, seconds=None):
        """(True if nvcc succeeds, what it says). Raises TimeoutExpired after so many seconds.

        It keeps its own files in `folder`, because one that is killed leaves them there.
        """
        if self._is_stopped:
            return False, ""
        pipes = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._process = subprocess.Popen(
            limited(command),
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            env=os.environ | {"TMPDIR": str(folder)},
            **pipes,
        )
        os.setpriority(os.PRIO_PGRP, self._process.pid, _NICE)
        try:
            _, said = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            raise
        return self._process.returncode == 0, said


class _Failed(Exception):
    """nvcc has failed; the message is what it said."""


def _refuse_too_many_registers(said, threads, replace):
    """Raise KernelTextError if a block of so many threads needs more registers than there are."""
    used = max(map(int, _REGISTERS_USED.findall(said)), default=0)
    given_out = -(-used // _REGISTERS_AT_A_TIME) * _REGISTERS_AT_A_TIME
    if given_out * threads > _REGISTERS:
        raise KernelTextError(
            f"the text for {' and '.join(replace)} needs {used} registers a thread, and a GPU has "
            f"{_REGISTERS // threads} for each of the {threads:,} threads of a block: it cannot "
            "start one (says nvcc)"
        )


def _explain(output, replace):
    """Raise KernelTextError if nvcc refuses the text; False if it has failed for other reasons."""
    assembly = _OF_ASSEMBLY.search(output)
    if _OF_THE_TEXT.search(output):
        first, line, rest = str(explain_compiler_error(output, replace)).partition("\n")
        raise KernelTextError(f"{first} (says nvcc, which compiles for a GPU){line}{rest}")
    if assembly:
        raise KernelTextError(
            f"the text for {' and '.join(replace)} cannot be assembled for a GPU: {assembly[1]} "
            "(says nvcc)"
        )
    return False
