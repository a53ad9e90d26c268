import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
import torch

from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.runners import simulator

N = 100


def body(statement):
    return f"__global__ void kernel(const float* x, float* y) {{ {statement} }}"


@pytest.mark.parametrize(
    "statement, sentence",
    [
        (
            "y[threadIdx.x] = x[5000 + threadIdx.x];",
            "thread 0 reached x[5000], outside x, which has",
        ),
        ("if (threadIdx.x == 7) y[-5000] = 1;", "thread 7 reached y[-5000], outside y"),
        ("if (threadIdx.x == 3) y[100] = 1;", "the kernel wrote y[100], outside y, which has 100"),
        ("((float*)x)[threadIdx.x + 2] = 1;", "thread 0 wrote x[2], but x is an input"),
        ("*(volatile float*)0 = 1;", "thread 0: reached a null pointer"),
        (
            "y[0] = *(volatile float*)0x123456789;",
            "reached memory that is neither a tensor's nor shared",
        ),
        ("volatile int zero = 0; y[0] = 7 / zero;", "an integer division by zero"),
        (
            "if (threadIdx.x < 9) __syncthreads(); else while (blockDim.x) __syncwarp(1u << 9);",
            "mask",
        ),
        (
            "if (threadIdx.x != 4) y[0] = __shfl_down_sync(0xFFFFFFFFu, 1.0f, 1);",
            "lane 0 shuffles with a mask that names lane 4, which ended without it",
        ),
        (
            "if (threadIdx.x < 9) __syncthreads(); else y[0] = __shfl_sync(0xFFFFFFFFu, 1.0f, 1);",
            "that lanes 0-8 never make",
        ),
        (
            "y[0] = __shfl_sync(0xFFFFu, 1.0f, 0);",
            "thread 16 is lane 16 of its warp and takes part in a warp operation whose mask 0xffff",
        ),
    ],
)
def test_a_fault_is_one_sentence_that_says_where(launch, statement, sentence):
    with pytest.raises(KernelFault) as caught:
        launch(body(statement), {"y": torch.zeros(N)}, {"x": torch.zeros(N)})
    message = str(caught.value)
    assert sentence in message
    assert "\n" not in message


def test_the_first_block_with_a_fault_is_named_whatever_the_workers_do(launch):
    text = body("if (blockIdx.x >= 3) y[1000 + 1000 * blockIdx.x] = 1;")
    messages = set()
    for _ in range(5):
        with pytest.raises(KernelFault) as caught:
            launch(text, {"y": torch.zeros(N)}, {"x": torch.zeros(N)}, grid=(50, 1))
        messages.add(str(caught.value))
    assert messages == {"block (3, 0), thread 0 reached y[4000], outside y, which has 100 elements"}


def test_an_endless_loop_is_stopped_at_the_time_limit(launch):
    with pytest.raises(
        KernelFault, match="did not end within 0.5 s of processor time and was stop"
    ):
        launch(
            body("volatile int go = 1; while (go) {}"),
            {"y": torch.zeros(N)},
            {"x": torch.zeros(N)},
            time_limit=0.5,
        )


def test_an_endless_loop_is_stopped_in_whichever_block_it_runs(launch):
    text = body("volatile int go = blockIdx.x == 5; while (go) {}")
    with pytest.raises(KernelFault, match="did not end within 0.1 s of processor time"):
        launch(text, {"y": torch.zeros(N)}, {"x": torch.zeros(N)}, time_limit=0.1, grid=(8, 1))


def test_a_busy_machine_refuses_no_kernel(launch):
    """On one core with four busy loops, the kernel gets a fifth of the time that passes."""
    text = """
    #include <time.h>
    __global__ void kernel(float* y) {
      timespec used = {};
      while (used.tv_nsec < 150'000'000) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
      y[0] = 1;
    }"""
    simulator.build_kernel(text, "kernel", {})
    with four_busy_loops_on_this_core():
        assert launch(text, {"y": torch.zeros(1)}, threads=1, time_limit=0.3).item() == 1


@contextmanager
def four_busy_loops_on_this_core():
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
        os.sched_setaffinity(0, cores)


def test_a_kernel_that_sleeps_is_stopped_too(launch, monkeypatch):
    monkeypatch.setattr("gemlite_edu.runners.simulator.run.wall_limit", lambda time_limit: 0.2)
    text = "#include <unistd.h>\n" + body("for (;;) pause();")
    with pytest.raises(KernelFault, match="the kernel waited without computing until it was stop"):
        launch(text, {"y": torch.zeros(N)}, {"x": torch.zeros(N)})


def test_a_stack_overflow_does_not_reach_this_process(launch):
    text = """
    __device__ int deep(int n, volatile int* keep) {
      volatile int here[64];
      here[n % 64] = n;
      return n == 0 ? *keep : deep(n - 1, here) + here[n % 64];
    }
    __global__ void kernel(int* y) { volatile int z = 0; y[0] = deep(100000, &z); }"""
    with pytest.raises(KernelFault, match="thread 0 used more than 512 KiB of local memory"):
        launch(text, {"y": torch.zeros(N, dtype=torch.int32)})


def test_a_local_array_as_large_as_cuda_allows_works(launch):
    text = """
    __global__ void kernel(int* y) {
      volatile int scratch[100000];
      for (int i = 0; i < 100000; ++i) scratch[i] = i;
      y[threadIdx.x] = scratch[99999];
    }"""
    y = launch(text, {"y": torch.zeros(64, dtype=torch.int32)}, threads=64)
    assert y.tolist() == [99999] * 64


def test_outputs_are_untouched_after_a_fault(launch):
    y = torch.full((N,), 7.0)
    with pytest.raises(KernelFault):
        launch(body("y[threadIdx.x] = 1; y[5000] = 1;"), {"y": y}, {"x": torch.zeros(N)})
    assert y.tolist() == [7.0] * N


def test_what_a_kernel_prints_is_shown(launch, capsys):
    text = body('if (threadIdx.x == 2) printf("lane %d has %g\\n", threadIdx.x, x[2]);')
    launch(text, {"y": torch.zeros(N)}, {"x": torch.arange(N).float()})
    assert capsys.readouterr().out == "lane 2 has 2\n"


def test_printf_returns_how_many_arguments_it_took(launch):
    table = {
        r'printf("\n")': 0,
        r'printf("%d%% %s\n", 1, "a")': 2,
        r'printf("%*d %-5.2f\n", 4, 1, 2.0)': 3,
        r'printf("%llu\n", 5ull)': 1,
    }
    calls = "".join(f"case {i}: y[{i}] = {call}; break;" for i, call in enumerate(table))
    text = body(f"switch (threadIdx.x) {{ {calls} }}")
    y = launch(text, {"y": torch.zeros(N)}, {"x": torch.zeros(N)})
    assert y[: len(table)].tolist() == list(table.values())


def test_a_function_without_return_does_not_compile():
    text = "__device__ int f(int a) { if (a) return 1; }\n__global__ void kernel() { f(2); }"
    with pytest.raises(KernelTextError, match="control reaches end of non-void function"):
        simulator.build_kernel(text, "kernel", {})


def test_a_variable_that_changes_twice_in_an_expression_does_not_compile():
    text = (
        "__global__ void kernel(const int* x, int* y) { int j = 0; y[0] = x[j++] | x[j++] << 8; }"
    )
    with pytest.raises(KernelTextError, match="operation on 'j' may be undefined"):
        simulator.build_kernel(text, "kernel", {})


def test_faults_of_several_workers_at_once_are_one_report(launch):
    text = body("y[1000 + 4096 * blockIdx.x] = 1;")
    for _ in range(40):
        with pytest.raises(KernelFault, match=r"^block \(0, 0\), thread 0 reached y\[1000\]"):
            launch(text, {"y": torch.zeros(N)}, {"x": torch.zeros(N)}, grid=(64, 1))


def test_a_flood_of_printed_lines_is_cut(launch, capsys):
    launch(
        body('printf("%d\\n", threadIdx.x);'),
        {"y": torch.zeros(N)},
        {"x": torch.zeros(N)},
        grid=(50, 1),
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 101
    assert lines[-1] == "... and 1500 more lines: print from one thread alone"


def test_a_kernel_that_prints_for_ever_fills_no_memory(launch, capsys):
    text = body('volatile int go = 1; while (go) printf("again and again\\n");')
    with pytest.raises(KernelFault, match="within 1 s .*lines, which takes long: print from one"):
        launch(text, {"y": torch.zeros(N)}, {"x": torch.zeros(N)}, time_limit=1.0)
    out = capsys.readouterr().out
    assert out.startswith("again and again\n") and len(out) < 10_000


def test_what_goes_to_stderr_is_no_fault(launch, capsys, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/nonexistent.so")
    text = body('if (threadIdx.x == 0) fprintf(stderr, "\\xff hello\\n"); y[threadIdx.x] = 1;')
    y = launch(text, {"y": torch.zeros(32)}, {"x": torch.zeros(N)})
    assert y.sum() == 32
    assert "hello" in capsys.readouterr().out


def test_a_kernel_that_ends_the_process_has_not_run(launch):
    with pytest.raises(KernelFault, match="the simulator's process ended before the kernel did"):
        text = "#include <unistd.h>\n" + body("_exit(0);")
        launch(text, {"y": torch.zeros(N)}, {"x": torch.zeros(N)})
