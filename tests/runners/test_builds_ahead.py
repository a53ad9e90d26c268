"""A thread builds what the next inspections need, and runs nothing."""

import threading
from contextvars import ContextVar

from gemlite_edu.runners.build_cache import cached_build
from gemlite_edu.runners.builds_ahead import built_ahead, end_if_only_built

LONG = 60.0


class Inspection:
    def __init__(self, log, name, error=None):
        self.log, self.name, self.error, self.begun = log, name, error, threading.Event()

    def __call__(self):
        self.log.append(f"builds {self.name}")
        self.begun.set()
        if self.error:
            raise self.error
        end_if_only_built()
        self.log.append(f"runs {self.name}")


def test_the_last_is_built_first_nothing_runs_and_errors_are_left_to_the_caller():
    log = []
    each = [Inspection(log, "a"), Inspection(log, "b", ValueError()), Inspection(log, "c")]
    with built_ahead(each):
        assert each[0].begun.wait(LONG)
    assert log == ["builds c", "builds b", "builds a"]


def test_an_inspection_of_the_caller_runs():
    log = []
    with built_ahead([]):
        Inspection(log, "a")()
    assert log == ["builds a", "runs a"]


def test_a_second_thread_waits_for_the_build_of_the_first(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_CACHE", str(tmp_path))
    is_building, may_end, builds = threading.Event(), threading.Event(), []

    def build(folder):
        builds.append(folder)
        is_building.set()
        assert may_end.wait(LONG)

    def get():
        folders.append(cached_build(("a key",), build))

    folders, threads = [], [threading.Thread(target=get) for _ in range(2)]
    threads[0].start()
    assert is_building.wait(LONG)
    threads[1].start()
    may_end.set()
    for thread in threads:
        thread.join(LONG)
    assert len(builds) == 1 and folders[0] == folders[1]


def test_the_thread_builds_in_the_context_of_the_caller():
    asked, seen, done = ContextVar("asked", default=False), [], threading.Event()

    def inspection():
        seen.append(asked.get())
        done.set()

    asked.set(True)
    with built_ahead([inspection]):
        assert done.wait(LONG)
    assert seen == [True]
