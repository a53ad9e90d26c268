"""A picture of the banks in which the elements of a two-dimensional array in shared memory lie."""

from gemlite_lab.draw.canvas import INK, LANE, OTHERS, box, display_png, stacked

_BANKS = 32


def tile_banks(columns, rows=6, picked=0):
    """The bank of each element of the first rows of arrays of floats, for each width in `columns`.

    picked: the column that is coloured. Raises ValueError for a column that an array lacks.
    """
    if not 0 <= picked < min(columns):
        raise ValueError(f"column {picked} is not in an array of {min(columns)} columns")
    for width in columns:
        banks = [(row * width + picked) % _BANKS for row in range(rows)]
        print(f"{width} columns: column {picked} of rows 0 to {rows - 1} is in banks {banks}")
    figure = stacked(10, (0.19 * rows + 0.45) * len(columns), [1] * len(columns))
    for axes, width in zip(figure.axes, columns, strict=True):
        for row in range(rows):
            for column in range(width):
                color = LANE if column == picked else OTHERS
                box(axes, column, row, 1, color, str((row * width + column) % _BANKS), fontsize=7)
        axes.set_title(
            f"{width} columns: the bank of each element", fontsize="medium", loc="left", color=INK
        )
        axes.set(xlim=(0, max(columns)), ylim=(rows, 0), xticks=[])
        axes.set_yticks([row + 0.5 for row in range(rows)], [f"row {row}" for row in range(rows)])
        axes.tick_params(length=0, labelsize=8)
        axes.spines[:].set_visible(False)
    widths = " and ".join(map(str, columns))
    display_png(figure, f"The bank of each element of arrays with {widths} columns")
