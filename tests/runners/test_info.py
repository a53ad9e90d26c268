import subprocess
import sys

from gemlite_edu.runners import info


def test_it_runs_as_a_module_and_names_what_a_bug_report_needs():
    output = subprocess.check_output([sys.executable, "-m", "gemlite_edu.runners.info"], text=True)
    names = [line.split(":")[0] for line in output.splitlines()]
    for name in ("gemlite_edu", "python", "system", "torch", "triton", "C++ compiler"):
        assert name in names


def test_it_works_without_any_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    report = info.report()
    assert "C++ compiler: none: no C++ compiler found" in report
    assert "CUDA compiler: none" in report
