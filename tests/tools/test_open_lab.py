"""`make lab` after the installation: JupyterLab answers, prints its address, and asks nothing."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from gemlite_lab.lesson.copies import originals

ROOT = Path(__file__).parent.parent.parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def status_of(address):
    """HTTP status; the address is printed a moment before the server takes connections."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return urllib.request.urlopen(address, timeout=30).status
        except ConnectionError:
            assert time.monotonic() < deadline
        except urllib.error.URLError as error:
            assert isinstance(error.reason, ConnectionError) and time.monotonic() < deadline
        time.sleep(0.2)


@pytest.fixture
def lab(tmp_path):
    """(address, folder) of a JupyterLab started by tools/open_lab.py in a copy of the workbook."""
    for name in ("tools", "exercises", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    server = subprocess.Popen(
        [sys.executable, "tools/open_lab.py"],
        cwd=tmp_path,
        env={**os.environ, "PORT": str(free_port()), "BROWSER": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        addresses = (
            re.search(r"http://(?:127.0.0.1|localhost)\S+token=\w+", x) for x in server.stdout
        )
        yield next(found[0] for found in addresses if found), tmp_path
    finally:
        server.kill()
        server.wait()


def test_the_address_opens_the_first_lesson_among_the_learners_copies(lab):
    address, folder = lab
    names = list(originals(ROOT))
    assert f"/lab/tree/work/{names[0]}.ipynb?token=" in address
    assert status_of(address) == 200
    assert status_of(address.replace("/lab/tree/", "/api/contents/")) == 200
    committed = f"notebooks/{names[0]}.ipynb"
    assert status_of(re.sub(r"/lab/tree/[^?]*", f"/api/contents/{committed}", address)) == 200
    assert sorted(path.stem for path in (folder / "work").glob("*.ipynb")) == names
