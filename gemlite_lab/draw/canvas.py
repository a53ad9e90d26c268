"""The parts that all pictures share: what a colour means, boxes, and display in a notebook.

A picture is a PNG without a background. Pages are white or dark, so writing and lines on the page
have a grey that both show, and writing in boxes is black on a light fill. SVG could take the page's
own colour, but GitHub and JupyterLab strip it from the HTML of notebooks that they do not trust:
jupyterlab/jupyterlab issue 6010, IRkernel/IRkernel issue 145.
"""

import io
import re

INK = "#787878"  # writing and lines on the page, with the same contrast to white as to dark
GRID = (INK, 0.2)

# What a colour means in every picture. Fills carry black writing, and IDLE carries INK.
IDLE = (INK, 0.2)  # takes no part: padding, pruned weights, other blocks' work, no request
OTHERS = "#D6D6D6"  # what others hold: the words and lanes beside those that the text is about
LANE = "#A6D4F2"  # a lane or warp, its registers, and what it asked for and gets
ASKED = "#0072B2"  # the way of what a lane asks for, and the bytes that it asks for
GLOBAL, GLOBAL_STORE = "#F6D7E6", "#D98CB4"  # global memory, and loads from it; stores to it
SHARED, SHARED_STORE = "#98D6AE", "#3BAE7A"  # shared memory, and loads from it; stores to it
COPY = "#60A0F0"  # copies on their way from global to shared memory
SUM = "#F5E27A"  # sums, and the arithmetic that makes them
WAITING = "#E69F00"  # costs time and brings nothing: a cell that waits, bytes nobody asked for
MARK = "#D55E00"  # what the text points at: a picked code or lane, a fault, a slower rung
# These tell neighbours apart, such as the fields of a word, and mean nothing else.
NEIGHBOURS = ("#D5C9F3", "#E3C9A6", "#AE9ADB", "#BF966C")
# And these tell the lines and bars of a plot apart.
SERIES = ("#0072B2", "#C77C00", "#009E73", "#C46A9B", "#2E97D0", "#D55E00", "#808080", "#A0459A")

_MEANT = (INK, OTHERS, LANE, ASKED, GLOBAL, GLOBAL_STORE, SHARED, SHARED_STORE, COPY)
_MEANT += (SUM, WAITING, MARK)
_MEANT += NEIGHBOURS + SERIES
_BLACK = "#000000"
_DOTS_PER_INCH = 160
_PAGE_DOTS_PER_INCH = 96  # so that letters of 10 points have 10 points on the page
_COLORS, _OPACITIES = 24, (0, 51, 140, 255)  # 96 pairs: a PNG's palette holds 256


def canvas(width, height):
    figure = stacked(width, height, [1])
    return figure, figure.axes[0]


def stacked(width, height, ratios):
    """A figure of `width` x `height` inches, with axes above each other in these proportions."""
    figure = _figure(width, height)
    figure.get_layout_engine().set(h_pad=0.08)
    figure.subplots(len(ratios), height_ratios=ratios)
    return figure


def beside(width, height, ratios):
    """A figure of `width` x `height` inches, with axes side by side in these proportions."""
    figure = _figure(width, height)
    figure.subplots(1, len(ratios), width_ratios=ratios)
    return figure


def _figure(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=_DOTS_PER_INCH, layout="constrained")


def counted(number, noun):
    return f"{number:,} {noun}" + "s" * (number != 1)


def rectangle(x, y, width, height, color, edge="white", label=None):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, facecolor=color, edgecolor=edge, label=label)


def frame(axes, x, y, width, height, color=MARK, linewidth=2.5):
    """Outline a part of a picture, above its boxes."""
    outline = rectangle(x, y, width, height, "none", color)
    outline.set(linewidth=linewidth, zorder=3)
    axes.add_patch(outline)


def box(axes, x, y, width, color, label, fontsize=8):
    axes.add_patch(rectangle(x, y, width, 1, color))
    if label:
        middle = x + width / 2, y + 0.5
        axes.text(*middle, label, ha="center", va="center", fontsize=fontsize, color=on(color))


def on(color):
    """The colour of writing in a box of this colour."""
    return INK if color in (IDLE, "none") else _BLACK


def write(axes, x, y, text, **style):
    """Writing beside the boxes, on the page itself."""
    return axes.text(x, y, text, **{"color": INK, "va": "center", **style})


def legend(figure, handles, ncols=5):
    figure.legend(
        handles=handles, loc="outside lower center", ncols=ncols, frameon=False, fontsize="small"
    )


def display_png(figure, alternative_text):
    """Show `figure` as a PNG of few colours: notebooks store it, and it is a quarter the size."""
    from IPython.display import Image, display
    from PIL import Image as Pillow

    _ink(figure)
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", transparent=True)
    picture, opacities = _with_palette(Pillow.open(drawn))
    picture.save(small, format="png", optimize=True, transparency=opacities)
    width = round(figure.get_figwidth() * _PAGE_DOTS_PER_INCH)
    display(Image(small.getvalue(), width=width, alt=alternative_text))


def _ink(figure):
    """Give INK to titles, ticks, spines and legends, which are drawn on the page."""
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    for axes in figure.axes:
        axes.tick_params(which="both", colors=INK)
        axes.spines[:].set_color(INK)
        for text in (axes.title, axes.xaxis.label, axes.yaxis.label):
            text.set_color(INK)
    for of_legend in legends:
        of_legend.get_frame().set(facecolor="none", edgecolor=INK)
        for text in of_legend.get_texts():
            text.set_color(INK)


def _with_palette(drawn):
    """(the picture with a palette, the opacity of each of its colours); white is the page."""
    import numpy as np
    from PIL import Image as Pillow
    from PIL import ImageColor

    *_, alpha = drawn.split()
    opaque = Pillow.new("RGB", drawn.size, INK)
    opaque.paste(drawn.convert("RGB"), mask=alpha.point(lambda a: 255 * (a > 0)))
    # Colours with a meaning stay what they are, and so do the commonest others; those of soft edges
    # go to the nearest of them.
    meant = {ImageColor.getrgb(color) for color in _MEANT}
    found = opaque.getcolors(opaque.width * opaque.height)
    found = sorted(((color in meant, count, color) for count, color in found), reverse=True)
    palette = Pillow.new("P", (1, 1))
    palette.putpalette([part for *_, color in found[:_COLORS] for part in color])
    few = opaque.quantize(palette=palette, dither=Pillow.Dither.NONE)
    opacities = np.array(_OPACITIES, dtype="uint8")
    is_page = (np.asarray(drawn)[..., :3] == 255).all(axis=-1)
    levels = np.digitize(np.asarray(alpha), (opacities[1:].astype(int) + opacities[:-1]) / 2)
    levels[is_page] = 0
    number = np.asarray(few) * len(opacities) + levels
    pairs, places = np.unique(number, return_inverse=True)
    picture = Pillow.fromarray(places.reshape(levels.shape).astype("uint8"), "P")
    colors = np.asarray(few.getpalette()).reshape(-1, 3)[pairs // len(opacities)]
    picture.putpalette(colors.astype("uint8").tobytes())
    return picture, opacities[pairs % len(opacities)].tobytes()


def display_svg(figure, alternative_text):
    """Show `figure` with the page's own colour in place of black, where no viewer strips SVG."""
    from html import escape

    from IPython.display import HTML, display

    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", transparent=True)
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :].replace(_BLACK, "currentColor")
    # The style would be the whole page's.
    svg = re.sub(r"<(metadata|style).*?</\1>", "", svg, flags=re.DOTALL)
    # Matplotlib names no colour where black fills.
    label = f'role="img" aria-label="{escape(alternative_text)}" fill="currentColor"'
    display(HTML(svg.replace("<svg", f'<svg {label} stroke-linejoin="round"', 1)))
