"""The built wheel holds gemlite_edu alone, and runs a kernel in an environment of its own."""

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
MISTAKE = """
from gemlite_edu import Format, load

kernel = load("gemv_a16wn_fp32", nbits="4")  # type: ignore[arg-type]
groups: str = Format(4, group_size=32).groups_of(64)  # type: ignore[assignment]
source: str = kernel.source
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
    names = zipfile.ZipFile(wheel).namelist()
    assert {"gemlite_edu/py.typed", "gemlite_edu/__init__.pyi"} < set(names)
    assert {name.partition("/")[0] for name in names} == {
        "gemlite_edu",
        f"gemlite_edu-{gemlite_edu.__version__}.dist-info",
    }
    assert wheel.stat().st_size < 1_000_000
    python = environment_with(required_by(wheel), tmp_path)
    install = ["install", "-q", "--no-deps", "--no-compile", wheel]
    run(sys.executable, "-m", "pip", "--python", python, *install, cwd=tmp_path)
    cache = {"GEMLITE_EDU_CACHE": str(tmp_path / "cache"), "PYTHONPATH": ""}
    assert f"from {tmp_path}" in run(python, "-c", USE, cwd=tmp_path, **cache)
    assert "CUDA kernels of CPU tensors" in run(python.parent / "gemlite-edu", cwd=tmp_path)
    check_types(python, tmp_path)


def check_types(python, folder):
    """The installed package's hints reach a program outside the repository, by py.typed."""
    config = folder / "mypy.ini"
    config.write_text("[mypy]\nwarn_unused_ignores = True\n[mypy-torch.*]\nfollow_imports = skip\n")
    program = folder / "program.py"
    program.write_text(MISTAKE)
    run(sys.executable, "-m", "mypy", "--python-executable", python, program, cwd=folder)


def required_by(wheel):
    """The installed distributions that the wheel requires, and those that they require."""
    found, new = {}, [wheel_requirements(wheel)]
    while new:
        for requirement in map(Requirement, new.pop() or []):
            name = canonicalize_name(requirement.name)
            if name in found or (
                requirement.marker and not requirement.marker.evaluate({"extra": ""})
            ):
                continue
            found[name] = metadata.distribution(name)
            assert requirement.specifier.contains(found[name].version, prereleases=True)
            new.append(found[name].requires)
    return found.values()


def wheel_requirements(wheel):
    (distribution,) = metadata.distributions(path=[str(wheel)])
    return distribution.requires


def environment_with(distributions, folder):
    """A new environment's python, which finds these distributions and no other.

    Its files are links, because to install torch again takes half a minute.
    """
    run(sys.executable, "-m", "venv", "--without-pip", folder / "alone", cwd=folder)
    (packages,) = (folder / "alone").glob("lib/python*/site-packages")
    for distribution in distributions:
        for top in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
            link = packages / top
            if not link.exists():
                link.symlink_to(distribution.locate_file(top))
    return folder / "alone" / "bin" / "python"


def test_an_editable_install_finds_the_lab_from_another_folder(tmp_path):
    code = "import gemlite_lab; print(gemlite_lab.__file__)"
    assert str(ROOT) in run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH="")
