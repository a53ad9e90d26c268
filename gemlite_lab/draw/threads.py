"""A picture of a launch: the grid, its blocks, their warps and lanes, and who has which memory."""

from gemlite_lab.draw.canvas import (
    GLOBAL,
    INK,
    LANE,
    MARK,
    SHARED,
    canvas,
    display_png,
    rectangle,
    write,
)

_LANES = 32
_MOST_BLOCKS, _MOST_WARPS = 3, 4
_MARGIN = 1.3
_BLOCK_WIDTH = _LANES + 2 * _MARGIN
_WARP_HEIGHT = 3.2


def threads(blocks, threads, i):
    """A launch of `blocks` blocks of `threads` threads, with thread i of the grid picked out.

    blocks: at most 3. threads: a multiple of 32, at most 128. Raises ValueError otherwise.
    """
    if not (1 <= blocks <= _MOST_BLOCKS and threads in range(32, 32 * _MOST_WARPS + 1, 32)):
        raise ValueError(
            f"the picture has room for 1 to {_MOST_BLOCKS} blocks of 32, 64, 96 or 128 threads, "
            f"got {blocks} of {threads}"
        )
    if i not in range(blocks * threads):
        raise ValueError(f"the threads are numbered 0 to {blocks * threads - 1}, got {i}")
    picked = divmod(i, threads)
    _print_levels(blocks, threads, *picked)
    _draw(blocks, threads // _LANES, *picked)


def _print_levels(blocks, threads, block, thread):
    warp, lane = divmod(thread, _LANES)
    first = warp * _LANES
    print(f"grid: {blocks} blocks of {threads} threads; one global memory for all of them")
    print(f"block {block}: {threads // _LANES} warps of 32 lanes, a shared memory of its own")
    print(f"warp {warp} of block {block}: threads {first} to {first + _LANES - 1} of the block")
    print(f"lane {lane} of that warp: threadIdx.x = {thread}, registers of its own")
    print(
        f"    its number in the grid: {block} * {threads} + {thread} = {block * threads + thread}"
    )


def _draw(blocks, warps, block, thread):
    width = blocks * (_BLOCK_WIDTH + _MARGIN) + _MARGIN
    height = warps * _WARP_HEIGHT + 8.5
    figure, axes = canvas(10, 0.2 * (height + 9))
    axes.add_patch(rectangle(0, 0, width, height, "none", INK))
    write(axes, _MARGIN, 1.3, "grid", fontsize=10, weight="bold")
    for number in range(blocks):
        x = _MARGIN + number * (_BLOCK_WIDTH + _MARGIN)
        _draw_block(axes, x, number, warps, height - 3.7, thread if number == block else None)
    _draw_registers(axes, width, height, warps, block, thread)
    axes.add_patch(rectangle(0, height + 4.6, width, 2.6, GLOBAL))
    what = "global memory: the tensors; every thread of the grid reads and writes it"
    axes.text(width / 2, height + 5.9, what, ha="center", va="center", fontsize=10)
    axes.set(xlim=(-0.3, width + 0.3), ylim=(height + 7.5, -0.3))
    axes.axis("off")
    display_png(
        figure,
        f"A grid of {blocks} blocks; each has {warps} warps of 32 lanes and a shared memory; each "
        "lane has registers; global memory belongs to all",
    )


def _draw_block(axes, x, number, warps, height, thread):
    axes.add_patch(rectangle(x, 2.5, _BLOCK_WIDTH, height, "none", INK))
    write(axes, x + _MARGIN, 3.6, f"block {number}", fontsize=10, weight="bold")
    for warp in range(warps):
        top = 4.6 + warp * _WARP_HEIGHT
        write(axes, x + _MARGIN, top + 0.7, f"warp {warp}: lanes 0 to 31", fontsize=9)
        for lane in range(_LANES):
            is_picked = warp * _LANES + lane == thread
            color = MARK if is_picked else LANE
            axes.add_patch(rectangle(x + _MARGIN + lane, top + 1.3, 1, 1.6, color))
    top = 5.1 + warps * _WARP_HEIGHT
    axes.add_patch(rectangle(x + _MARGIN, top, _LANES, 1.6, SHARED))
    axes.text(
        x + _BLOCK_WIDTH / 2, top + 0.8, "shared memory", ha="center", va="center", fontsize=9
    )


def _draw_registers(axes, width, height, warps, block, thread):
    """The box of the picked lane, with a line to its cell."""
    warp, lane = divmod(thread, _LANES)
    x = _MARGIN + block * (_BLOCK_WIDTH + _MARGIN) + _MARGIN + lane + 0.5
    bottom_of_cell = 4.6 + warp * _WARP_HEIGHT + 2.9
    box_width, top = 62, height + 1.2
    left = min(max(x - box_width / 2, 0), width - box_width)
    axes.plot([x, x], [bottom_of_cell, top], color=MARK, linewidth=1.5)
    axes.add_patch(rectangle(left, top, box_width, 2.6, LANE, MARK))
    i = block * warps * _LANES + thread
    what = f"lane {lane} of warp {warp}: its registers hold its own variables, here i = {i}"
    axes.text(left + box_width / 2, top + 1.3, what, ha="center", va="center", fontsize=10)
