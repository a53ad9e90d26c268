"""A picture of a vector: in CUDA a thread for each number, in Triton a program for each block."""

from gemlite_lab.draw.canvas import (
    IDLE,
    INK,
    NEIGHBOURS,
    canvas,
    display_png,
    frame,
    on,
    rectangle,
    write,
)

_MOST_PROGRAMS, _MOST_NUMBERS = 4, 24
_GAP = 0.6
_ROOM = 0.16  # of a cell, around what belongs together


def programs(N, BLOCK):
    """N numbers, one for each thread of a CUDA launch, and in blocks of BLOCK for Triton programs.

    At most 4 programs and 24 threads have room. Raises ValueError otherwise, or if BLOCK is no
    power of two.
    """
    count = -(-N // max(BLOCK, 1))
    if BLOCK < 1 or BLOCK & (BLOCK - 1):
        raise ValueError(f"BLOCK must be a power of two, got {BLOCK}")
    if not (1 <= count <= _MOST_PROGRAMS and count * BLOCK <= _MOST_NUMBERS):
        raise ValueError(
            f"the picture has room for 1 to {_MOST_PROGRAMS} programs and {_MOST_NUMBERS} numbers, "
            f"got {count} programs with {count * BLOCK}"
        )
    print(
        f"CUDA: {count * BLOCK} threads, each with a number i of its own and `if (i < N)`, N = {N}"
    )
    for number in range(count):
        first = number * BLOCK
        is_inside = [first + i < N for i in range(BLOCK)]
        print(f"Triton, program {number}: i = {[*range(first, first + BLOCK)]}, i < N: {is_inside}")
    _draw(N, BLOCK, count)


def _draw(N, BLOCK, count):
    width = count * BLOCK + (count - 1) * _GAP
    figure, axes = canvas(10, 3.1)
    write(axes, 0, 0.2, f"CUDA: {count * BLOCK} threads. Each has one number", fontsize=10)
    write(axes, 0, 3.2, f"Triton: {count} programs. Each has a block of {BLOCK}", fontsize=10)
    for i in range(count * BLOCK):
        x = i + i // BLOCK * _GAP
        color = NEIGHBOURS[i // BLOCK] if i < N else IDLE
        _cell(axes, x, 1.0, i, color)
        _frame(axes, x, 0.7, 1, 1.5)
        label = "thread" if BLOCK * count <= _MOST_NUMBERS // 2 else ""
        write(axes, x + 0.5, 0.92, label, ha="center", fontsize=7)
        _cell(axes, x, 4.1, i, color)
    for number in range(count):
        x = number * (BLOCK + _GAP)
        _frame(axes, x, 3.6, BLOCK, 1.7)
        what = f"program {number}: one block i"
        write(axes, x + BLOCK / 2, 3.87, what, ha="center", fontsize=9)
    write(axes, 0, 6.1, f"grey: i is not below N = {N}; `if` or mask keeps it away", fontsize=9)
    axes.set(xlim=(-0.3, width + 0.3), ylim=(6.3, -0.4))
    axes.axis("off")
    display_png(
        figure,
        f"{N} numbers: {count * BLOCK} CUDA threads with a number each, above {count} Triton "
        f"programs with a block of {BLOCK} numbers each",
    )


def _cell(axes, x, y, i, color):
    axes.add_patch(rectangle(x + _ROOM, y + 0.05, 1 - 2 * _ROOM, 1, color))
    write(axes, x + 0.5, y + 0.55, f"i = {i}", ha="center", fontsize=8, color=on(color))


def _frame(axes, x, y, width, height):
    frame(axes, x + _ROOM / 2, y, width - _ROOM, height, INK, linewidth=1.3)
