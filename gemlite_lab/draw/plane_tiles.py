"""A picture of the words that a Triton program loads: a tile, plane by plane."""

from gemlite_lab.draw.canvas import IDLE, NEIGHBOURS, canvas, display_png, rectangle

_ROW_HEIGHT = 0.26  # inches


def plane_tiles(layout, tile=0):
    """One tile of a row of W: a column for each word, and a row for each field, from bit 0 up.

    layout: a `PlaneTiles`. A box shows the k of its code, in the colour of its group.
    Raises ValueError for a tile that does not exist.
    """
    tiles = layout.padded_K // layout.tile
    if not 0 <= tile < tiles:
        raise ValueError(f"tile must be from 0 to {tiles - 1}, got {tile}")
    planes = [_plane(layout, tile * layout.fields + field) for field in range(layout.fields)]
    name = f"{layout.nbits}-bit, words of {layout.word_bits} bits, tile {tile} of {tiles}"
    print(f"{name}: {layout.fields} planes of {layout.depth} codes in {layout.depth} words")
    for field, plane in enumerate(planes):
        lowest = field * layout.low_bits
        bits = f"{lowest + layout.low_bits - 1}-{lowest}"
        print(f"plane {field:>2}, bits {bits:>5}: {_as_text(plane, layout)}")
    _draw(planes, layout, f"{name}: a column is a word, its lowest field on top")


def _plane(layout, number):
    """The k of each code in a plane of the padded row; None for padding."""
    group_size = layout.group_size or layout.K
    found = []
    for place in range(number * layout.depth, (number + 1) * layout.depth):
        group, within = divmod(place, layout.padded_group)
        k = group * group_size + within
        found.append(k if within < group_size and k < layout.K else None)
    return found


def _group_of(k, layout):
    return 0 if layout.group_size is None else k // layout.group_size


def _as_text(plane, layout):
    real = [k for k in plane if k is not None]
    padding = len(plane) - len(real)
    if not real:
        return "padding"
    text = f"k = {f'{real[0]}-{real[-1]}':>9}, group {_group_of(real[0], layout)}"
    return text + f", and padding in {padding} words" * bool(padding)


def _draw(planes, layout, title):
    figure, axes = canvas(10, 0.8 + _ROW_HEIGHT * len(planes))
    for field, plane in enumerate(planes):
        for word, k in enumerate(plane):
            color = IDLE if k is None else NEIGHBOURS[_group_of(k, layout) % len(NEIGHBOURS)]
            axes.add_patch(rectangle(word, field, 1, 1, color))
            if k is not None:
                axes.text(word + 0.5, field + 0.5, k, ha="center", va="center", fontsize=8)
    axes.set(xlim=(0, layout.depth), ylim=(len(planes), 0), xlabel="word", title=title)
    axes.set_xticks([word + 0.5 for word in range(layout.depth)], range(layout.depth))
    labels = [f"plane {field}" for field in range(len(planes))]
    axes.set_yticks([field + 0.5 for field in range(len(planes))], labels)
    axes.tick_params(length=0)
    display_png(figure, f"The k of each code. {title}")
