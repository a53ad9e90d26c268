import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent.parent
KERNEL_TEXTS = ROOT / "tests" / "frozen" / "kernel_texts.json"
sys.path.insert(0, str(ROOT / "tools"))

import measure_ladder  # noqa: E402

from gemlite_edu.kernels.gemv_fast import FastGemv  # noqa: E402
from gemlite_lab.bench import ladder  # noqa: E402


def test_every_rung_is_measured_at_every_shape():
    cells = [(c.name, p.weights.nbits, p.N, p.K) for c, p in measure_ladder.cells()]
    wanted = [
        (rung.name, nbits, *shape)
        for nbits, shapes in measure_ladder.SHAPES.items()
        for rung in ladder.rungs(nbits)
        for shape in shapes
    ]
    assert cells == wanted and len(set(cells)) == len(cells)


def test_every_rung_is_a_build_of_its_own():
    for nbits in measure_ladder.SHAPES:
        climb = ladder.rungs(nbits)
        builds = {measure_ladder.candidate_of(nbits, rung).version() for rung in climb}
        assert len(builds) == len(climb)


def test_the_record_is_of_the_rungs_as_they_are():
    recorded = {(r.kernel, r.weights, r.N, r.K): r for r in ladder.recorded()}
    cells = {(c.name, str(p.weights), p.N, p.K): c.build for c, p in measure_ladder.cells()}
    assert recorded.keys() == cells.keys()
    awaits = json.loads(KERNEL_TEXTS.read_text())["changed_since_measured"]
    builds = {cell: row.version.partition("+")[2] for cell, row in recorded.items()}
    assert set(awaits) & set(FastGemv.texts) or builds == cells, "measure_ladder.py"
    assert not any(row.refused for row in recorded.values())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("tool", ["measure_ladder.py", "count_ladder.py"])
def test_without_a_gpu_there_is_one_sentence(tool, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [tool])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "tools" / tool), run_name="__main__")
    assert "GPU" in end.value.code and "\n" not in end.value.code
    assert capsys.readouterr() == ("", "")
