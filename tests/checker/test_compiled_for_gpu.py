"""A right answer is compiled by nvcc beside the simulator's run, where nvcc is."""

import subprocess
import time
from pathlib import Path

import pytest
import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners import cuda, limited, nvcc_beside
from gemlite_lab.checker import CheckFailed, check, compiled_for_gpu

NAME = "dequant_dot_4bit"
RIGHT = (Path(__file__).parent.parent / "right" / NAME / "plain.cu").read_text()
GUARDED = """#ifdef __CUDA_ARCH__
  asm volatile("{}");
#else
#endif
  float sum = 0.0f;"""
IN_VAIN = "float sum = std::is_same<int, float>() ? 1.0f : 0.0f;"


@pytest.fixture(autouse=True)
def nvcc_is_on(monkeypatch, tmp_path):
    monkeypatch.delenv("GEMLITE_EDU_NVCC_BESIDE")
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(compiled_for_gpu, "_said_before", [])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def real_nvcc():
    try:
        return cuda.find_nvcc()
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture
def nvcc_that(monkeypatch, tmp_path):
    """Make a shell script the nvcc."""

    def make(script):
        path = tmp_path / "nvcc"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(cuda, "find_nvcc", lambda: str(path))

    return make


def with_start(start):
    assert "float sum = 0.0f;" in RIGHT
    return RIGHT.replace("float sum = 0.0f;", start)


def sentence_of(answer):
    with pytest.raises(KernelTextError) as caught:
        check(NAME, answer)
    return str(caught.value)


def test_nvcc_takes_a_right_answer(real_nvcc, capsys):
    check(NAME, with_start("float sum = 0.0f;  // no __CUDA_ARCH__ here"))
    assert "compiled" not in capsys.readouterr().out
    check(NAME, with_start(GUARDED.format("membar.cta;")))
    assert "for a GPU alone were compiled, and nothing has run them" in capsys.readouterr().out


def test_what_only_nvcc_refuses_is_no_right_answer(real_nvcc):
    sentence = sentence_of(with_start(IN_VAIN))
    assert sentence.startswith("dequant_dot, line ") and "(says nvcc" in sentence
    assert sentence.endswith(IN_VAIN)


def test_lines_for_a_gpu_alone_are_assembled(real_nvcc):
    assert "'moo' (says nvcc)" in sentence_of(with_start(GUARDED.format("moo.cta;")))


def test_without_nvcc_a_pass_says_once_what_was_not_compiled(monkeypatch, capsys):
    def find_none():
        raise RuntimeError("no nvcc")

    monkeypatch.setattr(cuda, "find_nvcc", find_none)
    for notes in (1, 0):
        check(NAME, RIGHT)
        assert capsys.readouterr().out.count("no CUDA compiler has") == notes
    for _ in range(2):
        check(NAME, with_start(GUARDED.format("membar.cta;")))
        assert "the lines for a GPU alone were neither compiled nor run" in capsys.readouterr().out


def test_an_nvcc_that_does_not_work_refuses_nothing(nvcc_that, capsys):
    nvcc_that("echo nvcc fatal : Unsupported gpu architecture >&2; exit 1")
    check(NAME, RIGHT)
    assert "no CUDA compiler has" in capsys.readouterr().out


def test_nvcc_has_the_limits_of_a_compiler(nvcc_that, tmp_path):
    said = tmp_path / "said"
    nvcc_that(f"(ulimit -t; ulimit -v; ulimit -f) > {said}")
    check(NAME, RIGHT + "// with limits\n")
    of_mib = 2048  # blocks of a file
    expected = (
        limited.PROCESSOR_SECONDS,
        limited.MEMORY_MIB << 10,
        limited.FILE_MIB * of_mib,
    )
    assert said.read_text().split() == [str(limit) for limit in expected]


def test_a_block_for_which_a_gpu_has_too_few_registers_is_refused(nvcc_that):
    nvcc_that("echo 'ptxas info    : Used 2041 registers, used 1 barriers' >&2")
    said = "needs 2041 registers a thread, and a GPU has [0-9]+ for each of the [0-9,]+ threads"
    with pytest.raises(KernelTextError, match=said):
        check(NAME, RIGHT + "// with many registers\n")


def test_nvcc_keeps_its_files_where_they_go_with_the_build(nvcc_that, tmp_path):
    nvcc_that(f"echo $TMPDIR > {tmp_path}/where; ls -d $TMPDIR > {tmp_path}/there")
    check(NAME, RIGHT + "// with files\n")
    where = (tmp_path / "where").read_text()
    assert where == (tmp_path / "there").read_text()
    assert not Path(where.strip()).exists()


def test_nvcc_is_killed_when_the_answer_is_wrong_already(nvcc_that, tmp_path):
    nvcc_that(f"echo $$ > {tmp_path}/started; sleep 987654 & wait")
    start = time.monotonic()
    with pytest.raises(CheckFailed):
        check(NAME, with_start("float sum = 1.0f;"))
    assert time.monotonic() - start < 60
    left = subprocess.run(["pgrep", "-f", "sleep 987654"], capture_output=True, text=True)
    assert not left.stdout


def test_a_text_whose_optimization_hardly_ends_is_compiled_with_less_of_it(
    nvcc_that, monkeypatch, capsys
):
    nvcc_that('case "$*" in *-O1*) ;; *) sleep 60;; esac')
    monkeypatch.setattr(nvcc_beside, "_PATIENCE", 0.1)
    check(NAME, with_start(GUARDED.format("membar.cta;") + "  // slow"))
    assert "for a GPU alone were compiled" in capsys.readouterr().out
