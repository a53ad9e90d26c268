"""A picture of a warp's three fragments: the lane that holds each element."""

from functools import partial

import torch

from gemlite_edu.packing import FRAGMENTS
from gemlite_edu.runners import simulator
from gemlite_lab.draw.canvas import MARK, NEIGHBOURS, beside, display_png, rectangle

_K = 16
_WARP_SIZE = 32
_TIME_LIMIT = 60.0
_INCHES = 0.185  # of an element, with 48 side by side
_FONT_SIZE, _SMALL_FONT_SIZE = 7, 5.5
# Each element of x and W encodes its row and its k, and each element of y its place, so a lane's
# numbers tell which elements it holds.
_TEXT = """
#include <mma.h>
using namespace nvcuda::wmma;
template <typename Fragment>
__device__ void tell(int*& owned, const Fragment& f) {
  for (int i = 0; i < f.num_elements; ++i) owned[i * 32 + threadIdx.x] = f.x[i];
  owned += 32 * f.num_elements;
}
__global__ void kernel(const signed char* x, const signed char* W, const int* y, int* owned) {
  fragment<matrix_a, SIZE_M, SIZE_N, 16, signed char, row_major> a;
  fragment<matrix_b, SIZE_M, SIZE_N, 16, signed char, col_major> b;
  fragment<accumulator, SIZE_M, SIZE_N, 16, int> c;
  for (int i = 0; i < 2; ++i) {
    load_matrix_sync(a, x + i * SIZE_M * 16, 16);
    tell(owned, a);
  }
  for (int i = 0; i < 2; ++i) {
    load_matrix_sync(b, W + i * SIZE_N * 16, 16);
    tell(owned, b);
  }
  load_matrix_sync(c, y, SIZE_N, mem_row_major);
  tell(owned, c);
}
"""


def fragments(shape="16x16x16", lane=5):
    """The lanes that hold x (M x 16), W (N x 16) and y (M x N) of one warp's product.

    shape: M x N x K of the fragment: "8x32x16", "16x16x16" or "32x8x16". A box groups neighbours
    that one lane holds; its colour is their place in the lane's part: the first ones, the next, and
    so on. What `lane` holds is framed. CUDA leaves this order open; the picture shows the
    simulator's, which an H200 had too.
    Raises ValueError for another shape or lane.
    """
    if shape not in FRAGMENTS:
        raise ValueError(f"shape must be {', '.join(FRAGMENTS)}, got {shape!r}")
    if lane not in range(_WARP_SIZE):
        raise ValueError(f"lane must be 0 to {_WARP_SIZE - 1}, got {lane!r}")
    pictures = {name: _boxes(cells) for name, cells in owners(shape).items()}
    counts = ", ".join(
        f"{sum(len(b.cells) for b in boxes if b.lane == 0)} of {n}" for n, boxes in pictures.items()
    )
    print(f"{shape}: a lane holds {counts}")
    _print_lanes(pictures)
    _draw(pictures, shape, counts, lane)


def owners(shape):
    """{"x", "W" or "y": {(lane, i): (row, column)}} of each lane's elements i, for a shape.

    The columns of x and W are k, those of y are outputs. The simulator loads the fragments, and
    every lane reports its elements.
    """
    M, N = FRAGMENTS[shape]
    numbers = partial(torch.arange, dtype=torch.int8, device="cpu")
    rows = {n: numbers(n)[:, None].expand(n, _K) for n in (M, N)}
    ks = {n: numbers(_K).expand(n, _K) for n in (M, N)}
    x, W = (torch.stack([rows[n], ks[n]]).contiguous() for n in (M, N))
    y = torch.arange(M * N, dtype=torch.int32, device="cpu")
    owned = torch.zeros(2 * (M * _K + N * _K) + M * N, dtype=torch.int32, device="cpu")
    arguments = [simulator.Tensor(name, tensor) for name, tensor in (("x", x), ("W", W), ("y", y))]
    arguments.append(simulator.Tensor("owned", owned, is_output=True))
    library = simulator.build_kernel(_TEXT, "kernel", {"SIZE_M": M, "SIZE_N": N})
    launch = simulator.Launch(grid=(1, 1), threads=_WARP_SIZE)
    simulator.run_kernel(library, arguments, launch, _TIME_LIMIT)
    x_rows, x_ks, W_rows, W_ks, places = owned.split([M * _K] * 2 + [N * _K] * 2 + [M * N])
    pairs = {"x": (x_rows, x_ks), "W": (W_rows, W_ks), "y": (places // N, places % N)}
    return {
        name: {
            (at % _WARP_SIZE, at // _WARP_SIZE): cell
            for at, cell in enumerate(zip(rows.tolist(), columns.tolist(), strict=True))
        }
        for name, (rows, columns) in pairs.items()
    }


class _Box:
    """Consecutive elements of one lane's fragment that are neighbours in the matrix."""

    def __init__(self, lane, number, cells):
        self.lane, self.number, self.cells = lane, number, cells
        self.row, self.column = min(cells)
        last_row, last_column = max(cells)
        self.height, self.width = last_row - self.row + 1, last_column - self.column + 1


def _boxes(cells):
    """The longest boxes that cut every lane's elements into equal runs of neighbours."""
    count = 1 + max(i for _, i in cells)
    for size in (4, 2, 1):
        boxes = [
            _Box(lane, i // size, [cells[lane, j] for j in range(i, i + size)])
            for lane in range(_WARP_SIZE)
            for i in range(0, count, size)
        ]
        if all(box.height * box.width == size for box in boxes):
            return boxes
    raise AssertionError("a single element is a box")


def _print_lanes(pictures):
    """Print the repeating pattern of lanes of the three matrices, side by side."""
    columns = []
    for name, boxes in pictures.items():
        lanes = {cell: box.lane for box in boxes for cell in box.cells}
        rows, ends = (1 + max(places) for places in zip(*lanes, strict=True))
        height, end = _period(lanes, rows, 0), _period(lanes, ends, 1)
        print(f"{name}: repeats every {height} rows and {end} columns")
        last = {box.column: box.column + box.width - 1 for box in boxes if box.column < end}
        for column in sorted(last):
            title = f"{column}" if last[column] == column else f"{column}-{last[column]}"
            axis = "" if column else f"{name} {'n' if name == 'y' else 'k'}="
            columns.append([axis + title, *(lanes[row, column] for row in range(height))])
    print("row  " + " ".join(f"{title:>{_width(title)}}" for title, *_ in columns))
    for row, line in enumerate(zip(*(lanes for _, *lanes in columns), strict=True)):
        cells = (f"{lane:>{_width(column[0])}}" for lane, column in zip(line, columns, strict=True))
        print(f"{row:>3}  " + " ".join(cells))


def _width(title):
    return max(3, len(title))


def _period(lanes, size, axis):
    """The number of rows (axis 0) or columns (1) after which the lanes repeat, at most `size`."""

    def is_period(step):
        return all(
            lanes.get((row + step, column) if axis == 0 else (row, column + step), lane) == lane
            for (row, column), lane in lanes.items()
        )

    return next(step for step in range(1, size + 1) if is_period(step))


def _draw(pictures, shape, counts, framed):
    sizes = [
        tuple(1 + max(places) for places in zip(*(c for b in boxes for c in b.cells), strict=True))
        for boxes in pictures.values()
    ]
    widths = [columns for _, columns in sizes]
    height = 0.9 + _INCHES * max(rows for rows, _ in sizes) * 48 / sum(widths)
    figure = beside(10, height, widths)
    for axes, (rows, columns), (name, boxes) in zip(
        figure.axes, sizes, pictures.items(), strict=True
    ):
        for box in boxes:
            color = NEIGHBOURS[box.number % len(NEIGHBOURS)]
            patch = rectangle(box.column, box.row, box.width, box.height, color)
            if box.lane == framed:
                patch.set(edgecolor=MARK, linewidth=2.5, zorder=2)
            axes.add_patch(patch)
            middle = box.column + box.width / 2, box.row + box.height / 2
            size = _FONT_SIZE if box.width > 1 else _SMALL_FONT_SIZE
            axes.text(*middle, box.lane, ha="center", va="center", fontsize=size)
        axes.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", anchor="N")
        axes.set_xlabel("n" if name == "y" else "k")
        axes.set_ylabel("n" if name == "W" else "m")
        axes.set_xticks(range(0, columns + 1, 4))
        axes.set_yticks(range(0, rows + 1, 4))
        axes.set_title(name)
    display_png(figure, f"Fragments of {shape}, lane {framed} framed: a lane holds {counts}")
