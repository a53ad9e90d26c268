"""A picture of bytes that hold two codes, and of the tiles of them that the two products read."""

import torch

from gemlite_edu.packing.int4_pairs import CODE_RANGES, Int4Pairs
from gemlite_lab.draw.canvas import (
    INK,
    NEIGHBOURS,
    box,
    counted,
    display_png,
    frame,
    rectangle,
    stacked,
)

_BYTE_BITS = 8
_LARGEST = (4, 8)  # bytes of an output, outputs: a larger picture would not be readable
_TURN_COLORS = NEIGHBOURS[2:]
_HATCHES = ("", "//")


def int4_pairs(packed, block_n=None, block_k=None):
    """The code in each nibble of some bytes, and the bytes of a program's first two turns.

    packed: bytes (K / 2, N) of `pack_2xint4`, uint8 or int8, at most (4, 8). A row of the picture
    is an output n, its bytes neighbours in memory; bits 7 to 4 of a byte are on the left.
    block_n, block_k: the tile of W that a turn of the loop takes, for program 0 of the forward and
    of the transposed product; None: no tiles.
    Raises TypeError for other bytes, ValueError for too many, or for tiles that do not fit twice.
    """
    if not isinstance(packed, torch.Tensor) or packed.dtype not in CODE_RANGES:
        came = packed.dtype if isinstance(packed, torch.Tensor) else type(packed).__name__
        raise TypeError(f"packed must be a torch.uint8 or torch.int8 tensor, got {came}")
    sizes = zip(packed.shape, _LARGEST, strict=False)
    if packed.dim() != 2 or not all(1 <= size <= largest for size, largest in sizes):
        raise ValueError(f"packed must be from (1, 1) to {_LARGEST}, got {tuple(packed.shape)}")
    has_tiles = block_n is not None or block_k is not None
    products = _products(packed, block_n, block_k) if has_tiles else {}
    nibbles = _nibbles(packed)
    name = str(packed.dtype).removeprefix("torch.")
    print(f"{name} bytes of two codes, bits 7-4 first")
    for n in range(packed.shape[1]):
        print(f"n = {n}: " + "; ".join(_byte_as_text(packed, nibbles, n)))
    for product, turns in products.items():
        for turn, (ns, ks) in enumerate(turns):
            print(f"{product}, turn {turn}: {_tile_as_text(ns, ks)}")
    _draw(packed, nibbles, products, name)


def _nibbles(packed):
    """{(k, n): (address, code)} of every code."""
    found = {}
    for n in range(packed.shape[1]):
        for k in range(2 * packed.shape[0]):
            address = Int4Pairs().locate(n, k)
            code = int(packed[address.row, address.col]) >> address.shift & 15
            is_negative = packed.dtype == torch.int8 and code > 7
            found[k, n] = address, code - 16 * is_negative
    return found


def _products(packed, block_n, block_k):
    """{product: [(range of n, range of k) of turns 0 and 1 of program 0]}"""
    rows, N = packed.shape
    fits = all(isinstance(size, int) and size >= 1 for size in (block_n, block_k))
    if not fits or block_k % 2 or 2 * block_n > N or block_k > rows:
        raise ValueError(
            f"block_n and block_k, which is even, must fit twice into N = {N} and K = {2 * rows}, "
            f"got {block_n} and {block_k}"
        )
    n, k = range(block_n), range(block_k)
    next_n, next_k = range(block_n, 2 * block_n), range(block_k, 2 * block_k)
    return {"forward": [(n, k), (n, next_k)], "transposed": [(n, k), (next_n, k)]}


def _bytes_of(ns, ks):
    """The (row, column) of each byte of a tile."""
    addresses = (Int4Pairs().locate(n, k) for n in ns for k in ks)
    return sorted({(address.row, address.col) for address in addresses})


def _byte_as_text(packed, nibbles, n):
    for row in range(len(packed)):
        here = [
            (address.shift, k, code)
            for (k, _), (address, code) in nibbles.items()
            if (address.row, address.col) == (row, n)
        ]
        codes = ", ".join(f"k = {k}: {code}" for _, k, code in sorted(here, reverse=True))
        yield f"{_hex(packed[row, n])} ({codes})"


def _hex(byte):
    return f"0x{int(byte) & 255:02x}"


def _tile_as_text(ns, ks):
    rows = [row for row, _ in _bytes_of(ns, ks)]
    tile = f"n = {ns[0]} to {ns[-1]}, k = {ks[0]} to {ks[-1]}"
    return f"{tile}, bytes {min(rows)} to {max(rows)} of each n"


def _draw(packed, nibbles, products, name):
    rows, N = packed.shape
    heights = [1.6 * N] + [N] * len(products)
    figure = stacked(10, 0.5 + 0.28 * sum(heights) + 0.45 * len(heights), heights)
    top, *others = figure.axes
    for (k, n), (address, code) in nibbles.items():
        left = _BYTE_BITS * (address.row + 1) - address.shift - Int4Pairs.nbits
        box(top, left, n, Int4Pairs.nbits, NEIGHBOURS[k % 2], f"k = {k}, n = {n}\ncode {code}")
    for row, n in _bytes_of(range(N), range(2 * rows)):
        frame(top, _BYTE_BITS * row, n, _BYTE_BITS, 1, INK, linewidth=1.5)
    top.set_title(f"{name}: bits 7-4 of a byte on the left, bits 3-0 on the right")
    for axes, (product, turns) in zip(others, products.items(), strict=True):
        _draw_turns(axes, product, turns)
    for axes in figure.axes:
        axes.set(xlim=(0, _BYTE_BITS * rows), ylim=(N, 0))
        axes.set_xticks([_BYTE_BITS * (row + 0.5) for row in range(rows)], _labels("byte", rows))
        axes.set_yticks([n + 0.5 for n in range(N)], _labels("n =", N))
        axes.tick_params(length=0)
    read = "" if not products else "; below, the bytes that each product reads in two turns"
    size = f"{counted(N, 'row')} of {counted(rows, f'{name} byte')}"
    display_png(figure, f"{size}: the k, n and code of each nibble{read}")


def _draw_turns(axes, product, turns):
    for turn, (ns, ks) in enumerate(turns):
        for row, n in _bytes_of(ns, ks):
            patch = rectangle(_BYTE_BITS * row, n, _BYTE_BITS, 1, _TURN_COLORS[turn])
            patch.set_hatch(_HATCHES[turn])
            axes.add_patch(patch)
            place = _BYTE_BITS * (row + 0.5), n + 0.5
            axes.text(*place, f"turn {turn}", ha="center", va="center", fontsize=9)
    axes.set_title(f"{product}: program 0 reads")


def _labels(name, count):
    return [f"{name} {number}" for number in range(count)]
