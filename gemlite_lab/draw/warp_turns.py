"""A picture of the steps that each block and warp of gemv_a16wn_fast takes, and in which turn."""

from gemlite_lab.draw.canvas import IDLE, NEIGHBOURS, box, counted, display_png, stacked

_MOST_BOXES = 400


def turns_of_warp(block, warp, blocks, warps, tiles, steps):
    """[(tile, step)] of a warp, turn by turn: the loop of gemv_fast_blocks.cuh."""
    found, tile, step = [], block, warp
    while tile < tiles:
        found.append((tile, step))
        step += warps
        if step >= steps:
            step, tile = step - steps, tile + blocks
    return found


def warp_turns(blocks, warps, tiles, steps, block=0):
    """W as tiles (rows of boxes) and steps, with the turn in which a warp of `block` takes each.

    warps: at most `steps`. The other blocks' tiles are grey. Below, the steps of each warp in turn,
    asked for and multiplied. Raises ValueError for numbers that do not fit.
    """
    if not (1 <= warps <= steps and tiles * steps <= _MOST_BOXES and 0 <= block < blocks <= tiles):
        raise ValueError(
            "there must be at least as many steps as warps and as many tiles as blocks, at most "
            f"{_MOST_BOXES} steps in all, and block {block} must exist; got {blocks} blocks, "
            f"{warps} warps, {tiles} tiles of {steps} steps"
        )
    turns = {w: turns_of_warp(block, w, blocks, warps, tiles, steps) for w in range(warps)}
    own = len(range(block, tiles, blocks))
    print(f"{counted(tiles, 'tile')} of {counted(steps, 'step')}; block {block} takes {own}")
    for w, listed in turns.items():
        text = ", ".join(f"({tile}, {step})" for tile, step in listed)
        print(f"warp {w}: (tile, step) = {text}")
    _draw(turns, block, tiles, steps)


def _draw(turns, block, tiles, steps):
    most = max(map(len, turns.values()))
    lines = 2 * len(turns)
    figure = stacked(10, 1.9 + 0.27 * (tiles + lines), [tiles, lines])
    above, below = figure.axes
    taken = {cell: w for w, listed in turns.items() for cell in listed}
    for tile in range(tiles):
        for step in range(steps):
            w = taken.get((tile, step))
            color = IDLE if w is None else NEIGHBOURS[w % len(NEIGHBOURS)]
            box(above, step, tile, 1, color, "" if w is None else f"warp {w}")
    for w, listed in turns.items():
        color = NEIGHBOURS[w % len(NEIGHBOURS)]
        for turn, (tile, step) in enumerate(listed):
            box(below, turn, 2 * w, 1, color, f"{tile}, {step}")
            box(below, turn + 1, 2 * w + 1, 1, color, f"{tile}, {step}")
    above.set(xlim=(0, steps), ylim=(tiles, 0), title=f"W: the steps that block {block} takes")
    above.set_xticks([step + 0.5 for step in range(steps)], [f"step {s}" for s in range(steps)])
    above.set_yticks([tile + 0.5 for tile in range(tiles)], [f"tile {t}" for t in range(tiles)])
    below.set(xlim=(0, most + 1), ylim=(lines, 0), title="tile, step of each warp's turns")
    names = ["before", *(f"turn {turn}" for turn in range(most))]
    below.set_xticks([place + 0.5 for place in range(most + 1)], names)
    kinds = ("asks for", "multiplies")
    labels = [f"warp {w} {kind}" for w in turns for kind in kinds]
    below.set_yticks([line + 0.5 for line in range(lines)], labels)
    for axes in figure.axes:
        axes.tick_params(length=0, labelsize=8)
    display_png(figure, f"{counted(len(turns), 'warp')} of block {block} take turns in its steps")
