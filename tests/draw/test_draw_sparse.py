"""Pictures of 1:2 sparse weights say in text what the packer made."""

import pytest
import torch

from gemlite_edu.packing import pack_sparse_1in2, tiled_sparsity_50
from gemlite_lab import draw

pytestmark = pytest.mark.usefixtures("shown")


@pytest.fixture
def kept():
    generator = torch.Generator().manual_seed(0)
    return tiled_sparsity_50(torch.randn(3, 512, generator=generator))


@pytest.fixture
def codes():
    return torch.arange(3 * 512).reshape(3, 512).remainder(128).byte()


@pytest.mark.parametrize("n, start", [(0, 0), (2, 64), (1, 448)])
def test_of_each_pair_one_is_marked_as_kept(n, start, kept, shown, capsys):
    draw.sparse_pairs(kept, n, start)
    title, first, second = capsys.readouterr().out.splitlines()
    assert title == f"row {n}: # is kept, . is pruned; a pair is a column"
    assert first.startswith(f"k = {start} to {start + 31} ")
    assert second.startswith(f"k = {start + 32} to {start + 63} ")
    marks = first.split()[-1] + second.split()[-1]
    assert [mark == "#" for mark in marks] == kept[n, start : start + 64].bool().tolist()
    assert f"{first.count('#')} keep the first" in shown[0].alt


@pytest.mark.parametrize("start", [32, -64, 512, 480])
def test_only_whole_pairs_are_shown(start, kept):
    with pytest.raises(ValueError, match="start must be a multiple of 64 with 64 weights behind"):
        draw.sparse_pairs(kept, 0, start)


@pytest.mark.parametrize("n, col", [(0, 0), (2, 31), (1, 37)])
def test_a_word_lists_its_bytes_from_the_top(n, col, codes, kept, shown, capsys):
    W_packed = pack_sparse_1in2(codes, kept)
    draw.sparse_word(W_packed, n, col)
    _, bits, binary, code, pair, kept_k = capsys.readouterr().out.splitlines()
    assert bits.split()[1:] == ["31-24", "23-16", "15-8", "7-0"]
    written = "".join(binary.split()[2:])
    assert int(written, 2) == W_packed[n, col].item() & 0xFFFFFFFF
    kept_k = [int(k) for k in kept_k.split()[2:]]
    assert [int(c) for c in code.split()[1:]] == codes[n, kept_k].tolist()
    assert kept[n, kept_k].bool().all()
    firsts = [col // 32 * 256 + 64 * p + col % 32 for p in range(4)]
    assert pair.split(maxsplit=1)[1].split() == [
        text for k in firsts for text in (f"{k},", f"{k + 32}")
    ]
    assert str(kept_k) in shown[0].alt
