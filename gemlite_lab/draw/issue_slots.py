"""A picture of the clock cycles in which a multiprocessor starts a loop's instructions."""

from math import ceil

from gemlite_lab.draw.canvas import (
    IDLE,
    NEIGHBOURS,
    SHARED,
    display_png,
    legend,
    rectangle,
    stacked,
)

_SLOTS, _INTEGER_SLOTS, _SHARED_SLOTS = 4, 2, 1  # of a clock cycle
_COLORS = {"shared load": SHARED, "integer": NEIGHBOURS[2], "other": NEIGHBOURS[1], "empty": IDLE}


def issue_slots(budget, weights=8):
    """The fewest clock cycles that start the instructions of some kernels, slot by slot.

    budget: {kernel: (instructions of a warp for a weight of each lane, integer ones among them)},
    as `instructions.per_weight` gives them; one of them loads x from shared memory. weights: how
    many weights of each lane the cycles are for. A multiprocessor starts 4 instructions in a cycle,
    at most 2 of them integer, at most 1 a shared load. Raises ValueError for numbers below 1.
    """
    if not budget or weights < 1:
        raise ValueError(f"budget must name kernels and weights be at least 1, got {weights}")
    found = {name: schedule(*counts, weights) for name, counts in budget.items()}
    for name, cycles in found.items():
        kinds = [kind for cycle in cycles for kind in cycle]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in _COLORS)
        print(f"{name}: {len(cycles)} cycles for {weights} weights: {counts}")
    _draw(found)


def schedule(every, integer, weights):
    """The kinds in the 4 slots of each clock cycle, with each kind spread as evenly as possible."""
    loads, whole = weights, round(integer * weights)
    others = round(every * weights) - loads - whole
    limits = (loads + whole + others) / _SLOTS, whole / _INTEGER_SLOTS, loads / _SHARED_SLOTS
    count = ceil(max(limits))
    spread = {"shared load": loads, "integer": whole}
    cycles = []
    for cycle in range(count):
        slots = []
        for kind, number in spread.items():
            share = (cycle + 1) * number // count - cycle * number // count
            slots += [kind] * share
        rest = min(_SLOTS - len(slots), others)
        others -= rest
        cycles.append([*slots, *["other"] * rest, *["empty"] * (_SLOTS - len(slots) - rest)])
    return cycles


def _draw(found):
    longest = max(map(len, found.values()))
    figure = stacked(10, 0.8 + 0.85 * len(found), [1] * len(found))
    for axes, (name, cycles) in zip(figure.axes, found.items(), strict=True):
        for cycle, slots in enumerate(cycles):
            for slot, kind in enumerate(slots):
                axes.add_patch(rectangle(cycle, slot, 1, 1, _COLORS[kind]))
        axes.set(xlim=(0, longest), ylim=(_SLOTS, 0))
        axes.set_yticks([_SLOTS / 2], [f"{name}\n{len(cycles)} cycles"], fontsize=9)
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    figure.axes[-1].set_xlabel("a column is a clock cycle with 4 slots")
    handles = [rectangle(0, 0, 1, 1, color, label=kind) for kind, color in _COLORS.items()]
    legend(figure, handles)
    ends = ", ".join(f"{name} in {len(cycles)}" for name, cycles in found.items())
    display_png(figure, f"Clock cycles that start the instructions, slot by slot: {ends}")
