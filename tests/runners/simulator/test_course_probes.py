"""What a CUDA course teaches runs in the simulator, or is refused in a sentence that says so."""

import re
import subprocess

import course_probes
import pytest
import torch

from gemlite_edu.kernels.not_simulated import explain_unknown_name
from gemlite_edu.runners import cuda
from gemlite_edu.runners.limited import run_limited
from gemlite_edu.runners.simulator import build
from gemlite_edu.runners.simulator.compilers import find_compiler

PROBES = course_probes.PROBES


@pytest.fixture(scope="module")
def results():
    """What each probe gives, from one compile and one launch: (probes, 32)."""
    from gemlite_edu.runners import simulator

    y = torch.full((len(PROBES), 32), -99)
    boxes = torch.zeros(len(PROBES), 32, dtype=torch.int32)
    outputs = [simulator.Tensor("y", y, is_output=True), simulator.Tensor("boxes", boxes, True)]
    library = simulator.build_kernel(course_probes.text(), "kernel", {})
    launch = simulator.Launch((len(PROBES), 1), 32)
    simulator.run_kernel(library, [simulator.Tensor("x", torch.arange(32.0)), *outputs], launch, 60)
    return y


def test_there_are_more_than_the_first_review_tried():
    assert len(PROBES) + len(course_probes.NOT_SIMULATED) >= 152


@pytest.mark.parametrize("number", range(len(PROBES)), ids=[probe.code[:60] for probe in PROBES])
def test_it_gives_what_cuda_gives(results, number):
    probe = PROBES[number]
    assert results[number].tolist() == [probe.value_of(t) for t in range(32)], probe.code


def test_nvcc_accepts_every_probe(tmp_path):
    try:
        nvcc = cuda.find_nvcc()
    except RuntimeError as error:
        pytest.skip(str(error))
    source = tmp_path / "probes.cu"
    source.write_text(course_probes.text())
    command = [nvcc, "-std=c++17", "-arch=sm_90", "-cubin", "-o", tmp_path / "cubin", source]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """{what is not simulated: the compiler's first message about its line}, from one compile."""
    lines = "\n".join(f"{{ {code} }}" for code in course_probes.NOT_SIMULATED)
    text = (
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        f"__global__ void child(int* y) {{}}\n__global__ void kernel(int* y) {{\n{lines}\n}}"
    )
    text, flags = build._prepare(text, "kernel", {})
    folder = tmp_path_factory.mktemp("refused")
    command = build._compile_command(find_compiler(), flags, folder, text)
    _, said = run_limited([*command, "-fsyntax-only"])
    messages = {}
    for line, message in re.findall(r"kernel\.cpp:(\d+):\d+: error: (.*)", said):
        messages.setdefault(int(line) - 5, message)
    return {code: messages.get(i) for i, code in enumerate(course_probes.NOT_SIMULATED)}


@pytest.mark.parametrize("code", course_probes.NOT_SIMULATED)
def test_one_sentence_names_what_is_not_simulated(refusals, code):
    sentence = explain_unknown_name(refusals[code], code)
    assert course_probes.NOT_SIMULATED[code] in sentence
    assert "\n" not in sentence and "did you mean" not in sentence
