"""A picture of the codes that share a scale: the quantization groups in one tile."""

from itertools import groupby

from gemlite_edu.kernels.plan import codes_per_group
from gemlite_lab.draw.canvas import NEIGHBOURS, canvas, display_png, rectangle

_LANES = 32
_ROW_HEIGHT = 0.26  # inches
_LANES_FOR_A_NAME = 3  # "group 12" fits into as many


def groups(layout, group_size, tile=0):
    """The group of each code of one tile: a column for each lane's word, a row for each code.

    layout: one in which a lane's codes are 32 apart in k, as in all layouts of `packing`. A box is
    a run of lanes in one group; its number and its colour name the group.
    Raises ValueError for an impossible group_size or tile.
    """
    if group_size < 1 or tile < 0:
        raise ValueError(
            f"group_size must be at least 1 and tile at least 0, got {group_size} and {tile}"
        )
    pack_factor = layout.tile // _LANES
    rows = [_runs(layout.tile * tile + _LANES * j, group_size) for j in range(pack_factor)]
    first, last = rows[0][0][0], rows[-1][-1][0]
    print(
        f"{layout.nbits}-bit, groups of {group_size}, tile {tile}: groups {first} to {last}, "
        f"CODES_PER_GROUP = {codes_per_group(layout, group_size)}"
    )
    for j, runs in enumerate(rows):
        k = layout.tile * tile + _LANES * j
        print(f"code {j:>2}, k = {f'{k}-{k + _LANES - 1}':>9}: {_as_text(runs)}")
    _draw(
        rows, f"{layout.nbits}-bit, groups of {group_size}, tile {tile}: a column is a lane's word"
    )


def _runs(first_k, group_size):
    """[(group, its first lane, lanes)] of 32 neighbouring k, one for each lane."""
    found = []
    for group, lanes in groupby(range(_LANES), lambda lane: (first_k + lane) // group_size):
        lanes = list(lanes)
        found.append((group, lanes[0], len(lanes)))
    return found


def _as_text(runs):
    if len(runs) == 1:
        return f"group {runs[0][0]}"
    return ", ".join(
        f"group {group} in lanes {lane}-{lane + lanes - 1}" for group, lane, lanes in runs
    )


def _draw(rows, title):
    figure, axes = canvas(10, 0.8 + _ROW_HEIGHT * len(rows))
    for j, runs in enumerate(rows):
        for group, lane, lanes in runs:
            color = NEIGHBOURS[group % len(NEIGHBOURS)]
            axes.add_patch(rectangle(lane, j, lanes, 1, color))
            text = f"group {group}" if lanes >= _LANES_FOR_A_NAME else group
            axes.text(lane + lanes / 2, j + 0.5, text, ha="center", va="center", fontsize=8)
    axes.set(xlim=(0, _LANES), ylim=(len(rows), 0), xlabel="lane", title=title)
    axes.set_xticks([lane + 0.5 for lane in range(0, _LANES, 4)], range(0, _LANES, 4))
    axes.set_yticks([j + 0.5 for j in range(len(rows))], [f"code {j}" for j in range(len(rows))])
    axes.tick_params(length=0)
    display_png(figure, f"The group of each code. {title}, its codes from top to bottom")
