"""The built wheel, alone in an environment of its own, runs a kernel."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
USE = """
import torch
import gemlite_edu
from gemlite_edu import check, load, pack_warped_int32, quantize_linear, sources
from gemlite_edu.lesson import recall
from gemlite_edu.real_layer import real_layer

layer = real_layer()
q = quantize_linear(layer.weight, 4)
kernel = load("gemv_a16wn_fp32", nbits=4)
y = kernel(layer.activations[:1], pack_warped_int32(q.W_q, 4), q.scales, q.zeros)
error = (y.double() - layer.activations[:1].double() @ q.dequantize(torch.float64).T).abs().max()
assert error < 0.02, error
check("dequant_dot_4bit", sources.hole("dequant_dot", "gemv_a16wn_fp32"))
recall("05.1")
print("from", gemlite_edu.__file__)
"""


def run(*command, cwd, **environment):
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_wheel_in_an_empty_environment_runs_a_kernel(tmp_path):
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "alone", cwd=tmp_path)
    python = tmp_path / "alone" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "-q", "-c", constraints, wheel, cwd=tmp_path)
    cache = {"GEMLITE_EDU_CACHE": str(tmp_path / "cache"), "PYTHONPATH": ""}
    assert f"from {tmp_path}" in run(python, "-c", USE, cwd=tmp_path, **cache)
