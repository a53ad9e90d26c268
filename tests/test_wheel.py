"""The built wheel holds gemlite_edu alone, and runs a kernel in an environment of its own."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import gemlite_edu

ROOT = Path(__file__).parent.parent
USE = """
import torch
import gemlite_edu
from gemlite_edu import GemLiteLinear, load, pack_warped_int32, quantize_linear

W, x = torch.randn(64, 128), torch.randn(1, 128).half()
q = quantize_linear(W, 4, group_size=32)
kernel = load("gemv_a16wn_fp32", nbits=4, group_size=32)
y = kernel(x, pack_warped_int32(q.W_q, 4), q.scales, q.zeros)
expected = x.double() @ q.dequantize(torch.float64).T
assert (y.double() - expected).abs().max() < 0.05
assert kernel.inspect(x, pack_warped_int32(q.W_q, 4), q.scales, q.zeros).findings == ()
layer = GemLiteLinear(4, 32, 128, 64).pack(q.W_q, q.scales, q.zeros)
assert (layer(x).double() - expected).abs().max() < 0.05
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
    assert {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()} == {
        "gemlite_edu",
        f"gemlite_edu-{gemlite_edu.__version__}.dist-info",
    }
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "alone", cwd=tmp_path)
    python = tmp_path / "alone" / "bin" / "python"
    # Compiling all of torch to bytecode takes longer than importing the part that runs here.
    install = ["install", "-q", "--no-compile", "-c", ROOT / "constraints.txt", wheel]
    run(sys.executable, "-m", "pip", "--python", python, *install, cwd=tmp_path)
    cache = {"GEMLITE_EDU_CACHE": str(tmp_path / "cache"), "PYTHONPATH": ""}
    assert f"from {tmp_path}" in run(python, "-c", USE, cwd=tmp_path, **cache)


def test_an_editable_install_finds_the_lab_from_another_folder(tmp_path):
    code = "import gemlite_lab; print(gemlite_lab.__file__)"
    assert str(ROOT) in run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH="")
