"""A picture of one tensor-core instruction, m16n8k16: what its 32 lanes hold of A, B and C."""

from gemlite_lab.draw.canvas import NEIGHBOURS, OTHERS, beside, display_png, rectangle

_WARP_SIZE = 32
_SHAPES = {"A": (16, 16), "B": (16, 8), "C": (16, 8)}
_AXES = {"A": ("k", "row"), "B": ("column", "k"), "C": ("column", "row")}


def mma(lane):
    """The elements of A (16 x 16), B (16 x 8) and C (16 x 8) in a warp, those of `lane` in colour.

    Each box is a register; its number is the lane that holds it, or the register's name in `lane`.
    Registers of A and B hold two halves, those of C one float.
    Raises ValueError for a lane that a warp does not have.
    """
    if not 0 <= lane < _WARP_SIZE:
        raise ValueError(f"a warp has lanes 0 to {_WARP_SIZE - 1}, got {lane}")
    held = {name: registers(name, lane) for name in _SHAPES}
    for name, cells in held.items():
        for i, elements in enumerate(cells):
            places = " and ".join(f"{name}{place}" for place in elements)
            print(f"lane {lane}, {name.lower()}[{i}]: {places}")
    _draw(lane)


def registers(name, lane):
    """The (row, column) of each element in the registers that `lane` has of "A", "B" or "C"."""
    g, t = divmod(lane, 4)
    if name == "A":
        corners = [(g + 8 * (i % 2), 2 * t + 8 * (i // 2)) for i in range(4)]
        return [((row, k), (row, k + 1)) for row, k in corners]
    if name == "B":
        return [((k, g), (k + 1, g)) for k in (2 * t, 2 * t + 8)]
    return [((g + 8 * (i // 2), 2 * t + i % 2),) for i in range(4)]


def _draw(lane):
    figure = beside(10, 5.2, [columns for _, columns in _SHAPES.values()])
    for axes, (name, (rows, columns)) in zip(figure.axes, _SHAPES.items(), strict=True):
        for other in range(_WARP_SIZE):
            for i, elements in enumerate(registers(name, other)):
                _draw_register(axes, name, i, elements, other, other == lane)
        across, down = _AXES[name]
        axes.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", anchor="N")
        axes.set(title=f"{name}, {rows} x {columns}", xlabel=across, ylabel=down)
        axes.set_xticks(range(0, columns + 1, 4))
        axes.set_yticks(range(0, rows + 1, 4))
    display_png(figure, f"A, B and C of one mma, with the registers of lane {lane} in colour")


def _draw_register(axes, name, i, elements, lane, is_chosen):
    (top, left), (bottom, right) = elements[0], elements[-1]
    height, width = bottom - top + 1, right - left + 1
    color = NEIGHBOURS[i] if is_chosen else OTHERS
    axes.add_patch(rectangle(left, top, width, height, color))
    label = f"{name.lower()}[{i}]" if is_chosen else lane
    weight = "bold" if is_chosen else "normal"
    middle = left + width / 2, top + height / 2
    axes.text(*middle, label, ha="center", va="center", fontsize=6.5, weight=weight)
