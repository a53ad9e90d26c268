import subprocess
import sys

import pytest
import torch

from gemlite_edu.runners import info


def test_it_runs_as_a_module_and_names_what_a_bug_report_needs():
    output = subprocess.check_output([sys.executable, "-m", "gemlite_edu"], text=True)
    names = [line.split(":")[0] for line in output.splitlines()]
    for name in ("gemlite_edu", "python", "system", "torch", "triton", "C++ compiler"):
        assert name in names


def test_it_takes_no_arguments():
    command = [sys.executable, "-m", "gemlite_edu", "--help"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (1, "") and "no arguments" in result.stderr


@pytest.mark.parametrize("has_nvcc, where", [(True, "the GPU"), (False, "not on the GPU, because")])
def test_it_says_what_runs_where(has_nvcc, where, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(info, "_cuda_compiler", lambda: "nvcc" if has_nvcc else _missing("nvcc"))
    monkeypatch.setattr(info, "_compiler", lambda: _missing("g++"))
    lines = dict(line.split(": ", 1) for line in info.abilities().splitlines())
    assert lines["CUDA kernels of CUDA tensors"].startswith(where)
    assert lines["CUDA kernels of CPU tensors"] == "nowhere: no C++ compiler was found"


def _missing(compiler):
    raise RuntimeError(f"no {compiler}")


def test_it_works_without_any_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    report = info.report()
    assert "C++ compiler: none: no C++ compiler found" in report
    assert "CUDA compiler: none" in report
