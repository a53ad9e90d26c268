"""A kernel's process that stays alive between calls gives what a new process gives, and ends."""

import gc
import os
import signal
import time

import pytest
import torch

from gemlite_edu import simulator
from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners.simulator import kept_processes
from gemlite_edu.runners.simulator.runner_process import RunnerProcess

COUNTED = """
#include <stdio.h>
#include <stdlib.h>
__device__ int given[2] = {5, 6};
__device__ float zeros[1 << 20];
__global__ void kernel(const float* x, float* y, int n) {
  static int calls = 0;
  extern __shared__ float shared[];
  const int t = threadIdx.x;
  void* room = malloc(200 << 10);
  __syncthreads();
  y[t] = x[t] + zeros[t << 15] + (isnan(shared[t]) ? 0 : 1) + (room ? 0 : 1);
  shared[t] = ++zeros[t << 15];
  if (t == 0) y[0] += 100 * calls++ + 1000 * given[1]++;
  if (t == 0) printf("%d\\n", n);
  if (n == 1) y[5000] = 1;
  if (n == 2) exit(7);
  if (n == 3) for (volatile int go = 1; go;) {}
}
"""
FAULTS = {1: "thread 0 reached y[5000], outside y", 2: "the simulator's process ended before"}


@pytest.fixture
def processes(monkeypatch):
    """The processes that were started."""
    started = []

    class Counted(RunnerProcess):
        def __init__(self, *given):
            super().__init__(*given)
            started.append(self._process)

    monkeypatch.setattr(kept_processes, "RunnerProcess", Counted)
    return started


def call(x, n=0, text=COUNTED, time_limit=10.0, blocks=2):
    y = torch.full((32,), torch.nan)
    arguments = [simulator.Tensor("x", x), simulator.Tensor("y", y, is_output=True)]
    launch = simulator.Launch((blocks, 1), 32, 128)
    library = simulator.build_kernel(text, "kernel", {})
    simulator.run_kernel(library, [*arguments, simulator.Integer(n)], launch, time_limit)
    return y


def fault(*given, **options):
    with pytest.raises(KernelFault) as caught:
        call(*given, **options)
    return str(caught.value)


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def wait_for_end(pid):
    deadline = time.monotonic() + 10
    while not has_ended(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return has_ended(pid)


def test_a_kept_process_gives_what_a_new_one_gives(processes, capsys):
    x = torch.arange(32.0)
    expected = [call(x, n=7, blocks=1), call(2 * x, blocks=1)]
    printed = capsys.readouterr().out
    assert len(processes) == 2 and expected[0][0] == 6000 and printed == "7\n0\n"
    with simulator.kept_alive():
        for _ in range(2):
            same = x.clone()
            assert torch.equal(call(same, n=7, blocks=1), expected[0])
            same *= 2  # in place
            assert torch.equal(call(same, blocks=1), expected[1])
            assert capsys.readouterr().out == printed
        call(x, n=7)  # two blocks, for two workers
        call(torch.cat([x, torch.zeros(9000)]), n=7)
        assert len(processes) == 4 and not has_ended(processes[2].pid)
    assert all(has_ended(process.pid) for process in processes)


@pytest.mark.parametrize("n", FAULTS)
def test_a_fault_ends_that_process_alone_with_the_same_sentence(processes, n):
    x = torch.ones(32)
    alone = fault(x, n)
    assert FAULTS[n] in alone
    with simulator.kept_alive():
        y = call(x, blocks=1)
        assert fault(x, n) == alone == fault(x, n, blocks=1)
        assert torch.equal(call(x, blocks=1), y)
    assert all(has_ended(process.pid) for process in processes)


def test_the_time_limit_is_for_each_call(processes):
    text = """
    #include <time.h>
    __global__ void kernel(const float* x, float* y, int n) {
      timespec begin, now = {};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
      do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < n);
      y[threadIdx.x] = 1;
    }"""
    with simulator.kept_alive():
        for _ in range(3):
            call(torch.ones(32), 1_000_000, text, time_limit=0.08, blocks=1)
        said = fault(torch.ones(32), 2_000_000_000, text, time_limit=0.08, blocks=1)
        assert "did not end within 0.08 s of processor time" in said
        call(torch.ones(32), 1_000_000, text, time_limit=0.08, blocks=1)
    assert len(processes) == 2


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_call_that_is_interrupted_or_sleeps_leaves_no_process(processes, monkeypatch):
    text = """
    #include <unistd.h>
    __global__ void kernel(float* x, float* y, int n) { if (n) pause(); }"""
    monkeypatch.setattr("gemlite_edu.runners.simulator.run.wall_limit", lambda time_limit: 0.2)
    with simulator.kept_alive():
        call(torch.ones(32), 0, text, blocks=1)
        assert "waited without computing" in fault(torch.ones(32), 1, text, blocks=1)
        assert has_ended(processes[0].pid)
        monkeypatch.setattr(RunnerProcess, "_report", interrupted)
        with pytest.raises(KeyboardInterrupt):
            call(torch.ones(32), 1, text, blocks=1)
        assert has_ended(processes[1].pid)


def test_few_processes_are_kept_and_a_forgotten_one_ends(processes, monkeypatch):
    monkeypatch.setattr(kept_processes, "_MOST", 1)
    with simulator.kept_alive(), simulator.kept_alive():
        call(torch.ones(32), blocks=1)
        call(torch.ones(32), blocks=2)
        assert has_ended(processes[0].pid) and not has_ended(processes[1].pid)
    library = simulator.build_kernel(COUNTED, "kernel", {})
    forgotten = RunnerProcess(library, (32, 1, 1), 1)
    pid = forgotten._process.pid
    del forgotten
    gc.collect()
    assert has_ended(pid)


def test_a_killed_host_leaves_no_process_and_a_fork_takes_its_own(processes):
    read, write = os.pipe()
    with simulator.kept_alive():
        y = call(torch.ones(32), blocks=1)
        host = os.fork()
        if host == 0:
            same = torch.equal(call(torch.ones(32), blocks=1), y)
            os.write(write, f"{processes[-1].pid if same and len(processes) == 2 else 0}".encode())
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(host, 0)
        of_fork = int(os.read(read, 100))
        assert of_fork and wait_for_end(of_fork)
        assert torch.equal(call(torch.ones(32), blocks=1), y) and len(processes) == 1
    os.close(read), os.close(write)


def test_an_inspected_run_has_a_new_process(processes):
    text = "__global__ void kernel(int* y) { *y = 1; }"
    y = simulator.Tensor("y", torch.zeros(1, dtype=torch.int32), is_output=True)
    with simulator.kept_alive():
        for _ in range(2):
            simulator.inspect_text(text, [y], simulator.Launch((1, 1), 1))
            assert all(has_ended(process.pid) for process in processes)
    assert len(processes) == 2
