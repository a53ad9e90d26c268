"""What a test run costs: minutes of processor time for each part, beside the part's budget.

Processor time, unlike time on a clock, is the same on a busy machine. A run over budget says so and
does not fail.
"""

import os
import resource
from collections import Counter
from pathlib import Path

import forked_kernels
import pytest

ROOT = Path(__file__).parent.parent
INSTALLED = ROOT / ".venv" / "install-seconds"  # written by tools/environment.py

INSTALL, LESSONS, BANK, ELSE = "install", "lessons and solutions", "the bank", "everything else"
BUDGET = {INSTALL: 2, LESSONS: 8, BANK: 5, ELSE: 7}  # minutes
_FOLDERS = {"notebooks": LESSONS, "solutions": LESSONS, os.path.join("tests", "checker"): BANK}


def seconds_so_far(*of):
    """Processor time of this process, of the children that it has waited for, of forked kernels."""
    of = of or (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    own = sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, of))
    return own + forked_kernels.seconds_so_far()


def part_of(path):
    """The part of the budget that pays for a test file."""
    folder = os.path.relpath(Path(path).parent, ROOT)
    return next((part for start, part in _FOLDERS.items() if folder.startswith(start)), ELSE)


def lines_of(seconds):
    """A line for each part, of {part: seconds}."""
    for part, budget in BUDGET.items():
        minutes = seconds.get(part, 0) / 60
        over = "  over budget" if minutes > budget else ""
        yield f"{part:21} {minutes:5.1f} of {budget} min{over}"


class ProcessorTime:
    """A plugin of pytest: every worker adds up what its tests use, the controller prints it."""

    def __init__(self, is_worker):
        self._is_worker = is_worker
        self._of_tests = Counter()  # of this process
        self._of_workers = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        start = seconds_so_far()
        try:
            return (yield)
        finally:
            self._of_tests[part_of(item.path)] += seconds_so_far() - start

    def pytest_sessionfinish(self, session):
        if self._is_worker:
            session.config.workeroutput["processor_time"] = self._used(seconds_so_far())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        output = getattr(node, "workeroutput", {})  # a worker that crashed has none
        self._of_workers.update(output.get("processor_time", {}))

    def pytest_terminal_summary(self, terminalreporter):
        # A controller's children are its workers, who have told what they used.
        own = [resource.RUSAGE_SELF] if self._of_workers else []
        used = self._of_workers + Counter(self._used(seconds_so_far(*own)))
        if INSTALLED.exists():
            used[INSTALL] = float(INSTALLED.read_text())
        terminalreporter.section("processor time")
        for line in lines_of(used):
            terminalreporter.line(line)

    def _used(self, total):
        """{part: seconds} of this process; "everything else" also pays for what no test used."""
        rest = total - sum(self._of_tests.values())
        return dict(self._of_tests + Counter({ELSE: rest}))
