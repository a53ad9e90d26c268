"""What the documents show runs, and what they link to exists."""

import re
from pathlib import Path

import pytest
import torch

from gemlite_edu import reference

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(ROOT.glob("*.md"))


def test_the_code_in_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    namespace = {}
    for block in blocks:
        exec(block, namespace)
    assert namespace["y"].shape == (1, 4096)
    x, y, W = namespace["x"], namespace["y"], namespace["q"].dequantize(torch.float64)
    assert ((y - reference.matmul(x, W)).abs() <= reference.error_bound(x, W, y.dtype)).all()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_every_link_leads_somewhere(path):
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if not link.startswith("http"):
            assert (ROOT / link).exists(), link


def test_notation_has_every_name_of_the_kernels():
    notation = (ROOT / "NOTATION.md").read_text()
    for name in ("W_NBITS", "PACK_FACTOR", "CODE_MASK", "TILE", "X_T", "lane_id", "WARP_SIZE"):
        assert name in notation
