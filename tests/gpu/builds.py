"""Compile the libraries that test files need on all cores, because tests ask for them one by one.

    python tests/gpu/builds.py FILE ...

A file lists them in its function `builds` as (function, argument); each such call leaves one
library in the cache.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from os import sched_getaffinity
from pathlib import Path


def main(files):
    modules = [import_module(Path(file).stem) for file in files]
    jobs = [job for module in modules for job in getattr(module, "builds", list)()]
    if not jobs:
        return
    # Processes: load_inline suits no two threads.
    with ProcessPoolExecutor(len(sched_getaffinity(0)), get_context("spawn")) as pool:
        list(pool.map(_build, jobs))


def _build(job):
    function, argument = job
    function(argument)


if __name__ == "__main__":
    main(sys.argv[1:])
