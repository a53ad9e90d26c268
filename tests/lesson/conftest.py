import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A workbook of the learner's, with the real notebooks, as current folder."""
    for name in ("notebooks", "exercises", "solutions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "work").mkdir()
    monkeypatch.delenv("GEMLITE_EDU_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path
