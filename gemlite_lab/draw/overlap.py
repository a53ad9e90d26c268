"""A picture of warps that wait for words: one alone, several in turn, and with reading ahead."""

from collections import namedtuple

from gemlite_lab.draw.canvas import INK, LANE, SUM, counted, display_png, rectangle, stacked

Turn = namedtuple("Turn", "warp asked came began ended")


def overlap(cases, turns, latency, work):
    """A model of warps that ask for words, get them `latency` later, and multiply for `work`.

    cases: {label: (warps, is_ahead)}; with is_ahead a warp asks for its next words when it begins
    to multiply, without it when it has ended. One warp at a time can multiply. Raises ValueError
    for numbers below 1.
    """
    least = min([turns, latency, work, *(warps for warps, _ in cases.values())])
    if least < 1:
        raise ValueError(f"warps, turns, latency and work must be at least 1, got {least}")
    found = {label: schedule(*case, turns, latency, work) for label, case in cases.items()}
    end = max(turn.ended for listed in found.values() for turn in listed)
    for label, listed in found.items():
        last = max(turn.ended for turn in listed)
        steps = counted(len(listed), "step")
        print(f"{label}: {steps} in {last} units of time, {last / len(listed):.1f} for each")
    _draw(found, end)


def schedule(warps, is_ahead, turns, latency, work):
    """The `Turn`s of all warps, in the order in which they are multiplied."""
    found, unit_free = [], 0
    asked, left = dict.fromkeys(range(warps), 0), dict.fromkeys(range(warps), turns)
    while any(left.values()):
        warp = min((w for w in left if left[w]), key=lambda w: (asked[w], w))
        free = max((turn.ended for turn in found if turn.warp == warp), default=0)
        began = max(asked[warp] + latency, unit_free, free)
        turn = Turn(warp, asked[warp], asked[warp] + latency, began, began + work)
        found.append(turn)
        unit_free, left[warp] = turn.ended, left[warp] - 1
        asked[warp] = turn.began if is_ahead else turn.ended
    return found


def _draw(found, end):
    heights = [1 + max(turn.warp for turn in listed) for listed in found.values()]
    figure = stacked(10, 0.4 + 0.45 * len(heights) + 0.34 * sum(heights), heights)
    for axes, (label, listed), warps in zip(figure.axes, found.items(), heights, strict=True):
        for turn in listed:
            way, took = turn.came - turn.asked, turn.ended - turn.began
            axes.add_patch(rectangle(turn.asked, turn.warp, way, 0.45, LANE))
            axes.add_patch(rectangle(turn.began, turn.warp + 0.45, took, 0.45, SUM))
        axes.set(xlim=(0, end), ylim=(warps, -0.1))
        axes.set_title(label, fontsize=10, loc="left", color=INK)
        axes.set_yticks([w + 0.45 for w in range(warps)], [f"warp {w}" for w in range(warps)])
        axes.tick_params(length=0, labelsize=8)
        axes.set_xticks([])
    figure.axes[-1].set_xlabel("time; blue: words on their way, yellow: the warp multiplies")
    display_png(figure, f"Words on their way, and multiplied: {', '.join(found)}")
