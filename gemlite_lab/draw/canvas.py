"""The parts that all pictures share: colours, boxes, and display in a notebook."""

import io
import re

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
PALE = ("#A6D4F2", "#F7D58B")
FOUR_COLORS = (*PALE, "#B5E3D1", "#EBCBDD")
INK = "#000000"
_PNG_COLORS = 64
_DOTS_PER_INCH = 80


def canvas(width, height, dots_per_inch=_DOTS_PER_INCH):
    figure = stacked(width, height, [1], dots_per_inch)
    return figure, figure.axes[0]


def stacked(width, height, ratios, dots_per_inch=_DOTS_PER_INCH):
    """A figure of `width` x `height` inches, with axes above each other in these proportions."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dots_per_inch, layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08)
    figure.subplots(len(ratios), height_ratios=ratios)
    return figure


def counted(number, noun):
    return f"{number:,} {noun}" + "s" * (number != 1)


def rectangle(x, y, width, height, color, edge="white", label=None):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, facecolor=color, edgecolor=edge, label=label)


def box(axes, x, y, width, color, label, fontsize=8):
    axes.add_patch(rectangle(x, y, width, 1, color))
    if label:
        axes.text(x + width / 2, y + 0.5, label, ha="center", va="center", fontsize=fontsize)


def legend(figure, handles, ncols=5):
    figure.legend(
        handles=handles, loc="outside lower center", ncols=ncols, frameon=False, fontsize="small"
    )


def display_png(figure, alternative_text, colors=_PNG_COLORS):
    """Show `figure` as a PNG of few colours: notebooks store it, and it is a quarter the size."""
    from IPython.display import Image, display
    from PIL import Image as Pillow

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    picture = Pillow.open(drawn).convert("RGB")
    # A median cut would mix the colour of a small patch with the colours of its neighbours.
    picture = picture.quantize(colors, method=Pillow.Quantize.MAXCOVERAGE)
    picture.save(small, format="png", optimize=True)
    display(Image(small.getvalue(), alt=alternative_text))


def display_svg(figure, alternative_text):
    """Show `figure` with the page's own colour of text in place of INK: on light and dark pages."""
    from html import escape

    from IPython.display import HTML, display

    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", transparent=True)
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    # The style would be the whole page's.
    svg = re.sub(r"<(metadata|style).*?</\1>", "", svg, flags=re.DOTALL)
    # Matplotlib names no colour where INK fills.
    label = f'role="img" aria-label="{escape(alternative_text)}" fill="currentColor"'
    display(HTML(svg.replace("<svg", f'<svg {label} stroke-linejoin="round"', 1)))
