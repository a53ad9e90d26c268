import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gemlite_edu.runners import build_cache

LOAD = """
import os
import torch
from gemlite_edu import load
from gemlite_edu.runners import simulator
start = sum(os.times()[:4])
load("gemv_a16wn_fp32", nbits=4, device="cpu")
print(sum(os.times()[:4]) - start)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMLITE_EDU_CACHE", str(tmp_path))
    return tmp_path


def build_slowly(folder):
    (Path(folder) / "half").write_text("1")
    time.sleep(0.5)
    (Path(folder) / "whole").write_text("2")


def build_in_process(results):
    results.put(sorted(p.name for p in build_cache.cached_build(("k",), build_slowly).iterdir()))


def test_two_builders_at_once_both_get_a_whole_build(cache):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    builders = [context.Process(target=build_in_process, args=(results,)) for _ in range(2)]
    for builder in builders:
        builder.start()
    assert [results.get(timeout=60) for _ in builders] == [["half", "whole"]] * 2
    for builder in builders:
        builder.join()
    assert len(list(cache.iterdir())) == 1


def test_a_build_killed_half_way_does_not_stop_the_next(cache):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    victim = context.Process(target=build_in_process, args=(results,))
    victim.start()
    deadline = time.monotonic() + 60
    while not list(cache.glob("building-*/half")):
        assert victim.is_alive() and time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    assert not list(cache.glob("*/whole"))
    assert (build_cache.cached_build(("k",), build_slowly) / "whole").exists()


def test_a_failing_build_leaves_nothing(cache):
    def fail(folder):
        raise ValueError("does not compile")

    with pytest.raises(ValueError, match="does not compile"):
        build_cache.cached_build(("k",), fail)
    assert list(cache.iterdir()) == []


def test_different_keys_do_not_share_a_build(cache):
    a = build_cache.cached_build(("a",), lambda folder: (folder / "a").touch())
    b = build_cache.cached_build(("b",), lambda folder: (folder / "b").touch())
    assert a != b
    assert [p.name for p in b.iterdir()] == ["b"]


def test_leftovers_of_killed_builds_go_after_a_day(cache):
    old, new = cache / "building-old", cache / "building-new"
    old.mkdir()
    new.mkdir()
    day_ago = time.time() - 25 * 3600
    os.utime(old, (day_ago, day_ago))
    build_cache.cached_build(("k",), lambda folder: None)
    assert not old.exists()
    assert new.exists()


@pytest.mark.usefixtures("own_cache")
def test_an_unchanged_kernel_loads_at_once_in_a_new_process():
    times = [
        float(subprocess.check_output([sys.executable, "-c", LOAD], text=True)) for _ in range(2)
    ]
    assert times[1] < 0.2
    assert times[1] < times[0]
