"""The small kernels of lessons on the GPU: right answers are right there too."""

from pathlib import Path

import pytest
import torch

from gemlite_edu.kernels.machine import machine_of
from gemlite_edu.runners import cuda
from gemlite_lab.checker import EXERCISES
from gemlite_lab.lesson.launch import with_headers
from gemlite_lab.lesson.mma import MMA

RIGHT = Path(__file__).parent.parent / "right"
ANSWERS = sorted([*RIGHT.glob("cuda_*/*.cu"), *RIGHT.glob("mma_rows/*.cu")])


def builds():
    """What builds.py compiles."""
    return [(build, path) for path in ANSWERS]


def build(path):
    name, text = path.parent.name, path.read_text()
    capability = machine_of(torch.device("cuda", 0)).capability
    source = with_headers(name, text, MMA if name == "mma_rows" else "")
    cuda.build_kernel(source, name, {}, capability, {name: text})


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_right_answer_is_right_bit_for_bit(path):
    exercise = EXERCISES[path.parent.name]
    for case in [*exercise.cases(), *exercise.fresh(7)]:
        right, _ = exercise.expected(case)
        assert torch.equal(exercise.run(path.read_text(), case, "cuda"), right), case.label
