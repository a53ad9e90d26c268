"""Cache compiled kernels on disk, in folders named by a hash of everything that went into them.

Each build fills a fresh folder and renames it when complete. A killed build therefore leaves only
an unused folder, and when two processes build the same, the first to finish wins and both succeed;
a second thread waits for the first.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from threading import Lock

_STALE_SECONDS = 24 * 3600
_being_built: defaultdict[str, Lock] = defaultdict(Lock)


def cache_folder():
    """$GEMLITE_EDU_CACHE, or gemlite_edu in the user's cache folder."""
    chosen = os.environ.get("GEMLITE_EDU_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gemlite_edu"


def cached_build(key, build):
    """The folder of the build with this `key`, a tuple of str; `build(folder)` fills a new one."""
    folder = cache_folder() / hashlib.sha256(repr(key).encode()).hexdigest()[:32]
    with _being_built[folder]:
        return folder if folder.is_dir() else _built(folder, build)


def _built(folder, build):
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale_builds(folder.parent)
        unfinished = Path(tempfile.mkdtemp(prefix="building-", dir=folder.parent))
    except OSError as error:
        raise RuntimeError(
            f"compiled kernels cannot be kept in {folder.parent} ({error.strerror}): "
            "set GEMLITE_EDU_CACHE to a folder that can be written"
        ) from None
    try:
        build(unfinished)
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def program_identity(path):
    """A str that changes when the program at `path` is replaced; the program is not run."""
    real = os.path.realpath(path)
    status = os.stat(real)
    return f"{real} {status.st_size} {status.st_mtime_ns}"


@cache
def _remove_stale_builds(parent):
    for folder in parent.glob("building-*"):
        try:
            if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        except FileNotFoundError:
            continue
