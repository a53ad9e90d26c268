"""The built wheel holds gemlite_edu alone, and works in an environment of its own."""

import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gemlite_edu

ROOT = Path(__file__).parent.parent
NAME = f"gemlite_edu-{gemlite_edu.__version__}"
USE = ROOT / "tools" / "use_wheel.py"
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


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The folder with the source distribution and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("distributions")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture
def wheel(distributions):
    (path,) = distributions.glob("*.whl")
    return path


def test_twine_has_nothing_to_say_about_the_distributions(distributions):
    files = sorted(distributions.iterdir())
    assert [file.suffix for file in files] == [".whl", ".gz"]
    run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=distributions)


def test_the_wheel_holds_the_files_of_gemlite_edu_alone(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in names if name.startswith(f"{NAME}.dist-info/")}
    files = [path for path in (ROOT / "gemlite_edu").rglob("*") if path.is_file()]
    ours = {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    assert names - about == ours
    assert wheel.stat().st_size < 1_000_000


def test_the_readme_of_the_index_page_says_nothing_that_is_true_of_the_repository_alone(wheel):
    readme = zipfile.ZipFile(wheel).read(f"{NAME}.dist-info/METADATA").decode()
    targets = re.findall(r"\]\(([^)]*)\)", readme)
    assert targets and all(target.startswith("https://") for target in targets)
    assert "![" not in readme and "Your own quantizer goes on from there" in readme
    assert "\npip install gemlite-edu " in readme


@pytest.mark.usefixtures("own_cache")  # the wheel has the same runner, or else it builds another
def test_the_wheel_in_an_empty_environment_runs_layers_models_and_kernels(wheel, tmp_path):
    python = environment_with(required_by(wheel), tmp_path)
    install = ["install", "-q", "--no-deps", "--no-compile", wheel]
    run(sys.executable, "-m", "pip", "--python", python, *install, cwd=tmp_path, PYTHONPATH="")
    assert f"from {tmp_path}" in run(python, USE, cwd=tmp_path, PYTHONPATH="")
    assert "CUDA kernels of CPU tensors" in run(
        python.parent / "gemlite-edu", cwd=tmp_path, PYTHONPATH=""
    )
    check_types(python, tmp_path)


def check_types(python, folder):
    """The installed package's hints reach a program outside the repository, by py.typed."""
    config = folder / "mypy.ini"
    config.write_text("[mypy]\nwarn_unused_ignores = True\n[mypy-torch.*]\nfollow_imports = skip\n")
    program = folder / "program.py"
    program.write_text(MISTAKE)
    run(sys.executable, "-m", "mypy", "--python-executable", python, program, cwd=folder)


def test_dir_lists_the_public_names_alone():
    assert dir(gemlite_edu) == sorted([*gemlite_edu.__all__, "__version__"])


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
