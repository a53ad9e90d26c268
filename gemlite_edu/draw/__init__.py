"""Floor 5: pictures of words, requests and inspected runs. Each also prints what it shows."""

from gemlite_edu.draw.formats import warp_words, word
from gemlite_edu.draw.phases import timeline
from gemlite_edu.draw.plots import curves, histogram
from gemlite_edu.draw.reports import request, show, side_by_side

__all__ = [
    "curves",
    "histogram",
    "request",
    "show",
    "side_by_side",
    "timeline",
    "warp_words",
    "word",
]
