"""How `make test-gpu` shares out its work, on tests that need no GPU."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

GPU_TESTS = Path(__file__).parent.parent / "gpu"

TESTS = """
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent

def build(name):
    (HERE / f"built {name}").touch(exist_ok=False)

def builds():
    return [(build, name) for name in "ab"]

@pytest.fixture(scope="module")
def built():
    yield sorted(path.name for path in HERE.glob("built *"))

@pytest.mark.parametrize("number", range(30))
def test_each(number, built):
    assert built == ["built a", "built b"]
    (HERE / f"ran {number}").touch(exist_ok=False)

def test_of_environment():
    assert os.environ["OMP_NUM_THREADS"] == "1"
"""


@pytest.fixture
def run(monkeypatch):
    """tests/gpu/run.py, which puts folders on the path."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    spec = importlib.util.spec_from_file_location("gpu_run", GPU_TESTS / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run_tests(run, tmp_path, monkeypatch):
    """What `run_shared` says of a text of tests, run in so many processes."""
    monkeypatch.setitem(run.ENVIRONMENT, "PYTHONPATH", f"{tmp_path}:{run.OWN_PATH}")

    def run_tests(text, processes):
        path = tmp_path / "test_made_up.py"
        path.write_text(text)
        return run.run_shared(str(path), processes=processes)

    return run_tests


def test_every_test_runs_once_and_what_it_needs_is_built_before(run_tests, tmp_path):
    assert run_tests(TESTS, processes=2) == {"passed": True, "tests": {"passed": 31}}
    assert len(list(tmp_path.glob("ran *"))) == 30


def test_fewer_tests_than_processes_pass(run_tests):
    found = run_tests("def test_alone():\n    pass\n", processes=2)
    assert found == {"passed": True, "tests": {"passed": 1}}


FAILS_AND_SKIPS = """
def test_that_fails():
    assert False, "why it failed"

def test_that_is_skipped():
    __import__("pytest").skip()
"""


def test_what_fails_fails_the_part_and_is_shown(run_tests, capsys):
    found = run_tests(TESTS + FAILS_AND_SKIPS, processes=2)
    assert found == {"passed": False, "tests": {"passed": 31, "failed": 1, "skipped": 1}}
    assert "why it failed" in capsys.readouterr().out


def test_a_process_that_ends_early_fails_the_part(run_tests):
    assert not run_tests(TESTS + "\ndef test_that_ends_it():\n    os._exit(0)", 2)["passed"]


def test_what_cannot_be_collected_or_is_not_there_fails_the_part(run_tests, capsys):
    assert not run_tests("import no_such_module", processes=2)["passed"]
    assert "No module named 'no_such_module'" in capsys.readouterr().out
    assert not run_tests("", processes=1)["passed"]


def test_a_process_that_hangs_is_stopped(run, monkeypatch):
    monkeypatch.setattr(run, "MOST_SECONDS", 1)
    result = run.run(sys.executable, "-c", "print(1, flush=True); import time; time.sleep(60)")
    assert result.returncode and result.stdout == "1\n\nstopped after 1 s"


def test_shares_are_all_of_it(run, monkeypatch, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\nopen(sys.argv[1] + '/' + sys.argv[2].replace('/', ' of '), 'w')")
    monkeypatch.setattr(run, "CORES", 3)
    run.run_shares(sys.executable, str(script), str(tmp_path))
    assert sorted(path.name for path in tmp_path.glob("* of *")) == ["0 of 3", "1 of 3", "2 of 3"]


def test_a_tool_of_the_sanitizer_passes_where_all_shares_do(run):
    clean = {"passed": True, "summary": "0 errors", "launches": 3}
    wrong = {"passed": False, "summary": "2 errors", "launches": 4}
    assert run.of_shares([clean, clean]) == clean | {"launches": 6}
    assert run.of_shares([clean, wrong, clean]) == wrong | {"launches": 10}


def test_every_tool_watches_every_share(run, monkeypatch):
    monkeypatch.setattr(run, "run_shares", lambda *command: None)
    monkeypatch.setattr(
        run,
        "watched_by",
        lambda tool, share: {"passed": True, "summary": tool, "launches": int(share[0]) + 1},
    )
    found = run.sanitizer()
    assert found.pop("passed") and found.keys() == set(run.TOOLS)
    for tool, said in found.items():
        assert said == {"passed": True, "summary": tool, "launches": 1 + 2 + 3 + 4}


def test_every_file_of_tests_belongs_to_one_part(run, monkeypatch):
    ran = []
    keep = lambda *files, **_: ran.extend(files) or {"passed": True, "tests": {"passed": 1}}  # noqa: E731
    monkeypatch.setattr(run, "run_shared", keep)
    monkeypatch.setattr(run, "run_pytest", keep)
    for part in (run.kernels, run.fast, run.mma, run.ternary, run.triton):
        json.dumps(part())
    assert sorted(ran) == sorted(map(str, GPU_TESTS.resolve().glob("test_*.py")))


def test_a_part_that_raises_fails_and_the_others_run(run, monkeypatch, tmp_path, capsys):
    def broken():
        raise RuntimeError("ncu failed")

    monkeypatch.setattr(run, "PARTS", {"first": broken, "second": lambda: {"passed": True}})
    monkeypatch.setattr(run, "report_path", lambda: tmp_path / "report.json")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("gemlite_edu.runners.info.report", lambda: "system: made up")
    with pytest.raises(SystemExit) as ended:
        run.main([])
    report = json.loads((tmp_path / "report.json").read_text())
    assert ended.value.code and "ncu failed" in report["first"]["error"]
    assert not report["first"]["passed"] and report["second"]["passed"]
