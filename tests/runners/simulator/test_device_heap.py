"""malloc, free, new and delete in a kernel, and what ends a kernel on purpose."""

import pytest
import torch

from gemlite_edu.kernels.errors import KernelFault


def test_the_heap_has_eight_megabytes(launch):
    text = """__global__ void kernel(int* y) {
      void* most = malloc(8 << 20);
      y[0] = most != nullptr && malloc(1) == nullptr && new char[16] == nullptr;
      free(most);
      y[1] = malloc(1) != nullptr;
    }"""
    assert launch(text, {"y": torch.zeros(2, dtype=torch.int32)}, threads=1).tolist() == [1, 1]


def test_what_nobody_wrote_there_is_no_number(launch):
    text = "__global__ void kernel(float* y) { y[0] = *static_cast<float*>(malloc(4)); }"
    assert launch(text, {"y": torch.zeros(1)}, threads=1).isnan()


@pytest.mark.parametrize(
    "statements, said",
    [
        (
            "int* p = new int[n / 32]; p[0] = p[1] = t; y[t] = p[int(x[t])];",
            "neither a tensor's nor",
        ),
        ("int* p = (int*)malloc(8); free(p); free(p);", "frees memory that malloc or new did not"),
        ("delete y;", "frees memory that malloc or new did not"),
        ("if (t == 40) __trap(); y[t] = 0;", "thread 40 called __trap()"),
        ("assert(t < 40 && t >= 0); y[t] = 0;", "the assertion t < 40 && t >= 0 is false"),
    ],
)
def test_one_sentence_says_what_ended_the_run(inspect, launch, statements, said):
    report, _ = inspect(statements)
    assert said in report.findings[0].sentence
    assert report.findings[0].place == "kernel.cpp:5"


def test_a_plain_run_says_it_too(launch):
    text = "__global__ void kernel(int* y) { assert(threadIdx.x < 4); y[threadIdx.x] = 1; }"
    with pytest.raises(KernelFault, match="thread 4: the assertion threadIdx.x < 4 is false"):
        launch(text, {"y": torch.zeros(32, dtype=torch.int32)})
