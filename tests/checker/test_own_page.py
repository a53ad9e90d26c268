"""The page about the learner's kernel shows their pieces, and overwrites no earlier page."""

from gemlite_edu import Format
from gemlite_lab import own_page
from gemlite_lab.checker.assemble import Assembled


def test_the_page_has_the_pieces_the_text_and_the_figures(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))
    texts = {"pack": "def pack(W_q, nbits): ...", "dequant_dot": "my text", "warp_reduce_sum": None}
    made = Assembled(Format(4), texts)
    first = own_page(made, "import os", {"bits per byte": 0.88})
    page = first.read_text()
    for part in ("import os", "| bits per byte | 0.88 |", "def pack", "my text", "4 bits"):
        assert part in page
    assert "From the package: warp_reduce_sum." in page
    second = own_page(made, "import re", {})
    assert second != first and first.read_text() == page
    assert capsys.readouterr().out == "wrote my_kernel.md\nwrote my_kernel_2.md\n"


def test_outside_a_workbook_it_lies_in_the_current_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("GEMLITE_EDU_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert own_page(Assembled(Format(4), {}), "", {}).parent.samefile(tmp_path)
