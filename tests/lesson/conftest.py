import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A workbook of the learner's, with the real exercises and solutions, as current folder."""
    for name in ("exercises", "solutions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "work").mkdir()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.delenv("GEMLITE_EDU_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path
