"""A picture of a tile in a GEMM: the planes of W, the slices of x that they meet, the sums."""

from gemlite_lab.draw.canvas import NEIGHBOURS, SUM, canvas, counted, display_png, rectangle

_DEPTH = 16  # of a plane
_GAP = 6
_INCHES = 0.032  # of one element


def dots(block_n, block_m, planes):
    """One tile of W (block_n x 16 planes) times x^T, as `planes` products (N, 16) x (16, M).

    A plane of W and the slice of x^T that it meets have one colour; their product is added to all
    of the block of sums (block_n, block_m). Raises ValueError for a number below 1.
    """
    if min(block_n, block_m, planes) < 1:
        raise ValueError(
            f"block_n, block_m and planes must be at least 1, got {block_n}, {block_m}, {planes}"
        )
    for plane in range(planes):
        first = plane * _DEPTH
        print(f"tl.dot {plane}: plane {plane} of W ({block_n}, {_DEPTH}) ", end="")
        print(f"times x^T ({_DEPTH}, {block_m}), k = {first} to {first + _DEPTH - 1}")
    print(
        f"each weight meets {counted(block_m, 'row')} of x, each x {counted(block_n, 'row')} of W"
    )
    _draw(block_n, block_m, planes)


def _draw(block_n, block_m, planes):
    depth = planes * _DEPTH
    width, height = depth + _GAP + block_m, depth + _GAP + block_n
    size = 1.1 + _INCHES * width, 0.7 + _INCHES * height
    figure, axes = canvas(*size)
    for plane in range(planes):
        color, along = NEIGHBOURS[plane % len(NEIGHBOURS)], plane * _DEPTH
        _box(axes, along, depth + _GAP, _DEPTH, block_n, color, f"{plane}")
        _box(axes, depth + _GAP, along, block_m, _DEPTH, color, f"{plane}")
    _box(axes, depth + _GAP, depth + _GAP, block_m, block_n, SUM, "sums")
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axes.set_xticks([depth / 2, depth + _GAP + block_m / 2], ["k, of W", f"{block_m} rows\nof x"])
    axes.set_yticks([depth / 2, depth + _GAP + block_n / 2], ["k, of x^T", f"{block_n} rows\nof W"])
    axes.yaxis.tick_right()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    alternative = f"{counted(planes, 'plane')} of W below left, the slices of x^T above right"
    display_png(figure, f"{alternative}, the sums where they meet")


def _box(axes, left, top, width, height, color, label):
    axes.add_patch(rectangle(left, top, width, height, color))
    middle = left + width / 2, top + height / 2
    axes.text(*middle, label, ha="center", va="center", fontsize=8)
