"""Pictures of 1:2 sparse weights: the kept one of each pair, and the bytes of a packed word."""

from gemlite_edu.packing import Sparse1in2, unpack_sparse_1in2
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.draw.canvas import IDLE, NEIGHBOURS, box, canvas, display_png, legend, rectangle

_CODE_BITS = Sparse1in2.nbits
_PAIRS = Sparse1in2.pack_factor // 2  # in a word
_KEPT = NEIGHBOURS[2]
_POSITION, _CODE = NEIGHBOURS[3], NEIGHBOURS[0]


def sparse_pairs(kept, n=0, start=0):
    """The kept weights among W[n, start] to W[n, start + 63]; each column is a pair.

    kept: (N, K), nonzero for kept weights, as `tiled_sparsity_50` returns it. start: a multiple of
    64. Raises ValueError if row n does not have these 64 weights.
    """
    if start % (2 * WARP_SIZE) or not 0 <= start <= kept.shape[1] - 2 * WARP_SIZE:
        raise ValueError(
            f"start must be a multiple of {2 * WARP_SIZE} with {2 * WARP_SIZE} weights behind it "
            f"in a row of {kept.shape[1]}, got {start}"
        )
    halves = (kept[n, start : start + 2 * WARP_SIZE] != 0).reshape(2, WARP_SIZE).tolist()
    names = [f"k = {k} to {k + WARP_SIZE - 1}" for k in (start, start + WARP_SIZE)]
    print(f"row {n}: # is kept, . is pruned; a pair is a column")
    for name, half in zip(names, halves, strict=True):
        print(f"{name:17} " + "".join("#" if is_kept else "." for is_kept in half))

    figure, axes = canvas(10, 1.7)
    for y, half in enumerate(halves):
        for lane, is_kept in enumerate(half):
            color = _KEPT if is_kept else IDLE
            axes.add_patch(rectangle(lane, y, 1, 1, color))
    axes.set(xlim=(0, WARP_SIZE), ylim=(2, 0), xlabel="lane", title=f"row {n}: a pair is a column")
    axes.set_yticks([0.5, 1.5], names)
    axes.set_xticks([lane + 0.5 for lane in range(0, WARP_SIZE, 4)], range(0, WARP_SIZE, 4))
    _legend(figure, {"kept": _KEPT, "pruned": IDLE})
    first = sum(halves[0])
    display_png(figure, f"Of {WARP_SIZE} pairs, {first} keep the first, {WARP_SIZE - first} not")


def sparse_word(W_packed, n=0, col=0):
    """The four bytes of a packed word, each with its position, its code and the code's k.

    W_packed: int32 words from `pack_sparse_1in2`.
    """
    K = W_packed.shape[1] * Sparse1in2.pack_factor
    codes, kept = (values[n].tolist() for values in unpack_sparse_1in2(W_packed, K))
    tile, lane = divmod(col, WARP_SIZE)
    firsts = [tile * Sparse1in2.tile + 2 * WARP_SIZE * p + lane for p in range(_PAIRS)]
    positions = [int(kept[k]) for k in firsts]
    keeps = [k if kept[k] else k + WARP_SIZE for k in firsts]
    found = [codes[k] for k in keeps]
    _print_table(
        f"word {col} of row {n}: 4 pairs, position and code of each",
        {
            "bits": [f"{31 - 8 * p}-{24 - 8 * p}" for p in range(_PAIRS)],
            "position, code": [
                f"{position} {code:0{_CODE_BITS}b}"
                for position, code in zip(positions, found, strict=True)
            ],
            "code": found,
            "pair": [f"{k}, {k + WARP_SIZE}" for k in firsts],
            "kept k": keeps,
        },
    )

    figure, axes = canvas(10, 1.9)
    for p in range(_PAIRS):
        which = "first" if positions[p] else "second"
        label = f"code {found[p]} of k = {keeps[p]}, the {which}"
        box(axes, 8 * p, 0, 1, _POSITION, str(positions[p]))
        box(axes, 8 * p + 1, 0, _CODE_BITS, _CODE, label)
    axes.set(xlim=(0, 32), ylim=(0, 1), yticks=[])
    axes.set_title(f"word {col} of row {n}: bit 31 left, bit 0 right")
    axes.set_xticks(range(0, 33, 4), [str(32 - bit) for bit in range(0, 33, 4)])
    _legend(figure, {"position: 1 keeps the first": _POSITION, "7 bits of code": _CODE})
    display_png(figure, f"The four bytes of word {col} of row {n}, keeping k = {keeps}")


def _print_table(title, rows):
    print(title)
    for name, cells in rows.items():
        print(f"{name:15}" + "".join(f"{cell!s:>11}" for cell in cells))


def _legend(figure, colors):
    legend(figure, [rectangle(0, 0, 1, 1, color, label=name) for name, color in colors.items()])
