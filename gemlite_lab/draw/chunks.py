"""A picture of Split-K: the tiles of K that each chunk adds up, and the groups that hold them."""

from math import ceil

from gemlite_lab.draw.canvas import INK, NEIGHBOURS, canvas, counted, display_png, on, rectangle

_FEWEST_CHARACTERS = 0.0095  # fraction of the picture's width that one character needs


def chunks(K, tile, group_size, count):
    """K from left to right: chunks above, their tiles below them, the groups at the bottom.

    A tile has the colour of its chunk. The chunks are those of `gemm_splitk`: whole tiles, equally
    many in each chunk except the last ones.
    Raises ValueError for a number below 1.
    """
    if min(K, tile, group_size, count) < 1:
        raise ValueError(
            "K, tile, group_size and count must be at least 1, "
            f"got {K}, {tile}, {group_size} and {count}"
        )
    each = ceil(ceil(K / tile) / count) * tile
    spans = [(c * each, min((c + 1) * each, K)) for c in range(count)]
    print(f"K = {K:,}, tiles of {tile}, groups of {group_size}, {counted(count, 'chunk')}")
    for number, (start, stop) in enumerate(spans):
        print(f"chunk {number}: {_as_text(start, stop, tile, group_size)}")
    _draw(K, tile, group_size, spans)


def _as_text(start, stop, tile, group_size):
    if start >= stop:
        return "nothing is left for it"
    parts = (
        f"{name} {start // size} to {(stop - 1) // size}"
        for name, size in (("tiles", tile), ("groups", group_size))
    )
    return f"k = {start} to {stop - 1}, " + ", ".join(parts)


def _draw(K, tile, group_size, spans):
    figure, axes = canvas(10, 1.9)
    color_at = {}
    for number, (start, stop) in enumerate(spans):
        color = NEIGHBOURS[number % len(NEIGHBOURS)]
        color_at |= dict.fromkeys(range(start, stop, tile), color)
        if start < stop:
            _box(axes, K, start, stop, 0, color, f"chunk {number}", str(number))
    for start in range(0, K, tile):
        number = start // tile
        _box(axes, K, start, min(start + tile, K), 1, color_at[start], f"tile {number}", number)
    for start in range(0, K, group_size):
        number = start // group_size
        stop = min(start + group_size, K)
        _box(axes, K, start, stop, 2, "none", f"group {number}", number, INK)
    title = f"K = {K:,}: chunks, their tiles, and groups of {group_size}"
    axes.set(xlim=(0, K), ylim=(3, 0), xlabel="k", title=title)
    axes.set_xticks(sorted({start for start, _ in spans if start < K} | {K}))
    axes.set_yticks([0.5, 1.5, 2.5], ["chunks", "tiles", "groups"])
    axes.tick_params(length=0)
    display_png(figure, f"{title}, from top to bottom")


def _box(axes, K, start, stop, row, color, name, number, edge="white"):
    axes.add_patch(rectangle(start, row + 0.06, stop - start, 0.88, color, edge))
    room = (stop - start) / K / _FEWEST_CHARACTERS
    text = next((text for text in (name, str(number)) if len(text) <= room), "")
    style = {"fontsize": 8, "color": on(color)}
    axes.text((start + stop) / 2, row + 0.5, text, ha="center", va="center", **style)
