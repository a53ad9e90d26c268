import os
import signal
import threading
import time
from pathlib import Path

import pytest

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners import limited
from gemlite_edu.runners.simulator.build import build_instrumented_kernel, build_kernel

MANY_TEMPLATES = """
template <int I> constexpr long fib(int n) { return n < 2 ? n + I : fib<I>(n - 1) + fib<I>(n - 2); }
template <int I> struct Sum { static constexpr long value = fib<I>(27) + Sum<I - 1>::value; };
template <> struct Sum<0> { static constexpr long value = 0; };
__global__ void kernel(float* y) { y[0] = Sum<800>::value; }
"""
TENFOLD = "\n".join(f"#define A{i} {', '.join([f'A{i - 1}'] * 10)}" for i in range(1, 9))
MANY_WORDS = f"#define A0 1\n{TENFOLD}\n__global__ void kernel(float* y) {{ y[0] = (A8, A8); }}"
LARGE_ARRAY = """
__device__ char large[1u << 28] = {1};
__global__ void kernel(float* y) { y[0] = large[threadIdx.x]; }
"""


@pytest.mark.parametrize("build", [build_kernel, build_instrumented_kernel])
def test_a_compile_that_does_not_end_is_stopped(build, own_cache, monkeypatch):
    monkeypatch.setattr(limited, "PROCESSOR_SECONDS", 1)
    with pytest.raises(KernelTextError, match="did not end within 1 s of processor time") as caught:
        build(MANY_TEMPLATES, "kernel", {})
    assert "\n" not in str(caught.value)
    assert _compilers_of(os.getpid()) == []


def test_a_compile_that_takes_too_much_memory_is_stopped(own_cache, monkeypatch):
    monkeypatch.setattr(limited, "MEMORY_MIB", 512)
    with pytest.raises(KernelTextError, match="more than 0.5 GiB of memory"):
        build_kernel(MANY_WORDS, "kernel", {})


def test_a_compile_that_writes_too_much_is_stopped(own_cache):
    with pytest.raises(KernelTextError, match="a file of more than 64 MiB"):
        build_kernel(LARGE_ARRAY, "kernel", {})


def test_messages_without_end_are_stopped_too(monkeypatch):
    monkeypatch.setattr(limited, "FILE_MIB", 1)
    status, said = limited.run_limited(["sh", "-c", "yes 'out.cpp:1:1: error: wrong' >&2"])
    assert "a file of more than 1 MiB" in limited.why_stopped(status, said)


def test_a_program_that_succeeds_was_not_stopped():
    assert limited.run_limited(["sh", "-c", "echo out of memory >&2"]) == (0, "out of memory\n")
    assert limited.why_stopped(0, "out of memory") is None
    assert limited.why_stopped(1, "kernel.cpp:1:1: error: wrong") is None


def test_an_interrupt_ends_the_command_and_what_it_started(tmp_path):
    told = tmp_path / "process"
    # A shell's background job ignores interrupts, and so do the programs that it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=_interrupt_once_told, args=(told,), daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            limited.run_limited(["sh", "-c", f"sleep 60 & echo $! > {told}; wait"])
    finally:
        signal.signal(signal.SIGINT, before)
    assert _has_ended(int(told.read_text()))


def _interrupt_once_told(told):
    """Interrupt this process when the command runs."""
    while not (told.exists() and told.read_text()):
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)


def _has_ended(process):
    for _ in range(50):
        status = Path(f"/proc/{process}/stat")
        if not status.exists() or status.read_text().rpartition(") ")[2][0] == "Z":
            return True
        time.sleep(0.1)
    return False


def _compilers_of(process):
    """The compilers that this process has started and that still run."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children]
    return [name for name in names if name in ("sh", "g++", "cc1plus", "clang++")]
