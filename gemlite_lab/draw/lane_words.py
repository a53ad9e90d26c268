"""A picture of the words of a row: which lane takes which word in which step, and what it holds."""

from gemlite_edu.packing import WarpInterleaved
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.draw.canvas import IDLE, LANE, OTHERS, box, display_png, stacked

_MOST_STEPS = 6


def lane_words(nbits, K, lane):
    """Above, the words of a row of K codes, a column for each lane and a row for each step. Below,
    the k of the codes in the words of this lane; what is beyond K is padding.

    Raises ValueError for a lane that does not exist, or for more steps than fit in a picture.
    """
    layout = WarpInterleaved(nbits)
    steps = layout.packed_shape(1, K)[1] // WARP_SIZE
    if not 0 <= lane < WARP_SIZE:
        raise ValueError(f"lane must be from 0 to {WARP_SIZE - 1}, got {lane}")
    if steps > _MOST_STEPS:
        raise ValueError(
            f"a row of {K} codes takes {steps} steps, and the picture shows {_MOST_STEPS}"
        )
    held = [
        [step * layout.tile + lane + WARP_SIZE * j for j in range(layout.pack_factor)]
        for step in range(steps)
    ]
    print(f"K = {K}, {nbits}-bit: {steps * WARP_SIZE} words, in each step one for every lane")
    for step, ks in enumerate(held):
        listed = ", ".join(_label(k, K) for k in ks)
        print(f"lane {lane}, step {step}: word {step * WARP_SIZE + lane}, k = {listed}")
    _draw(K, lane, held)


def _label(k, K):
    return str(k) if k < K else "padding"


def _draw(K, lane, held):
    steps, fields = len(held), len(held[0])
    figure = stacked(10, 1.5 + 0.56 * steps, [1, 1])
    above, below = figure.axes
    for step in range(steps):
        for other in range(WARP_SIZE):
            color = LANE if other == lane else OTHERS
            box(above, other, step, 1, color, str(step * WARP_SIZE + other), fontsize=7)
        for field, k in enumerate(held[step]):
            color = LANE if k < K else IDLE
            box(below, field, step, 1, color, f"k={k}" if k < K else "0")
    above.set(xlim=(0, WARP_SIZE), ylim=(steps, 0), title="the words of a row: number of each word")
    above.set_xticks([lane + 0.5], [f"lane {lane}"])
    below.set(xlim=(0, fields), ylim=(steps, 0), title=f"the codes in the words of lane {lane}")
    below.set_xticks([0.5, fields - 0.5], ["most significant field", "least significant field"])
    for axes in (above, below):
        axes.set_yticks([step + 0.5 for step in range(steps)], [f"step {s}" for s in range(steps)])
        axes.tick_params(length=0)
    display_png(figure, f"Lane {lane} takes one word in each of {steps} steps, 32 words apart")
