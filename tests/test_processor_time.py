import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import processor_time
from processor_time import BANK, ELSE, INSTALL, LESSONS, ROOT, ProcessorTime, lines_of, part_of

SPIN = "import os\nwhile os.times()[0] < 0.3: pass"
CONFTEST = """
import processor_time

processor_time.BUDGET[processor_time.ELSE] = 0

def pytest_configure(config):
    is_worker = hasattr(config, "workerinput")
    config.pluginmanager.register(processor_time.ProcessorTime(is_worker))
"""


def test_every_file_has_its_part():
    assert part_of(ROOT / "notebooks" / "03_gemv.ipynb") == LESSONS
    assert part_of(ROOT / "solutions" / "03_gemv.ipynb") == LESSONS
    assert part_of(ROOT / "tests" / "checker" / "test_wrong_answers.py") == BANK
    assert part_of(ROOT / "tests" / "test_wheel.py") == ELSE


def test_what_is_over_budget_is_said():
    lines = list(lines_of({INSTALL: 60, BANK: 5.5 * 60}))
    assert lines[0] == "install                 1.0 of 2 min"
    assert lines[2] == "the bank                5.5 of 5 min  over budget"
    assert not any("over" in line for line in (lines[0], lines[1], lines[3]))


def test_a_test_pays_for_the_processes_that_it_starts():
    plugin = ProcessorTime(is_worker=False)
    running = plugin.pytest_runtest_protocol(
        SimpleNamespace(path=ROOT / "tests" / "checker" / "test_check.py")
    )
    next(running)
    subprocess.run([sys.executable, "-c", SPIN], check=True)
    running.close()
    assert 0.3 <= plugin._used(total=3.0)[BANK] <= 3.0
    assert plugin._used(total=100.0)[ELSE] >= 97.0


def test_workers_tell_what_they_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(processor_time.__file__).parent))
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it takes seconds
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n1", tmp_path]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    line = next(line for line in said.splitlines() if line.startswith(ELSE))
    assert line.endswith("of 0 min  over budget"), said
