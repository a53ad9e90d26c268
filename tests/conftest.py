import os
import shutil
import sys

import pytest
from forked_kernels import fork_kernel
from processor_time import ProcessorTime

# These are learners' answers, which the checker's tests read as text and never import.
collect_ignore = ["wrong", "right"]

EVERY_CASE = "every_case"


def pytest_configure(config):
    # A thousand answers and the notebooks are checked: nvcc looks only at those of its own tests.
    os.environ["GEMLITE_EDU_NVCC_BESIDE"] = "off"
    os.environ["GEMLITE_EDU_PREDICTIONS"] = "pass"  # nobody guesses in the lessons that nbval runs
    os.environ["GEMLITE_EDU_PIECES"] = "ours"  # and nobody has answered the exercises
    config.addinivalue_line("markers", f"{EVERY_CASE}: minutes of cases; `-m {EVERY_CASE}` runs it")
    config.pluginmanager.register(ProcessorTime(is_worker=hasattr(config, "workerinput")))
    if config.getoption("nbval", False) and sys.platform == "linux":
        from jupyter_client.provisioning import local_provisioner

        local_provisioner.launch_kernel = fork_kernel


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from shares import ByFileOrExercise

    return ByFileOrExercise(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(config, items):
    """Skip tests with these marks unless `-m` names the mark."""
    if EVERY_CASE in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker(EVERY_CASE)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker(EVERY_CASE)]


@pytest.fixture
def shown(monkeypatch):
    """The displayed pictures: small PNGs, each with a text for readers who cannot see it."""
    from IPython import display

    pictures = []
    monkeypatch.setattr(display, "display", pictures.append)
    yield pictures
    for picture in pictures:
        assert picture.data.startswith(b"\x89PNG") and picture.alt
        assert len(picture.data) < 60_000  # a lesson's notebook is under 200 kB with all of its own


@pytest.fixture
def addresses(monkeypatch):
    """The addresses of the tensors that a CUDA launch gets; the simulator copies its tensors."""
    from gemlite_edu.runners.gpu_or_simulator import Program

    found, run = [], Program.run

    def watched(text, plan, tensors, out):
        found.extend(t.data_ptr() for t in tensors.values() if t is not None)
        run(text, plan, tensors, out)

    monkeypatch.setattr(Program, "run", watched)
    return found


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A build cache that has the simulator's runner alone, because its build takes seconds."""
    from gemlite_edu.runners.simulator.build import build_runner

    runner, cache = build_runner().parent, tmp_path / "cache"
    shutil.copytree(runner, cache / runner.name)
    monkeypatch.setenv("GEMLITE_EDU_CACHE", str(cache))
    return cache


@pytest.fixture
def fresh_compiler():
    """torch stops compiling one function for ever more layers: the limit is for one program."""
    import torch

    torch.compiler.reset()
    yield
    torch.compiler.reset()
