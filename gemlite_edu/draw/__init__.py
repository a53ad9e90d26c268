"""Floor 5: pictures of words, requests, inspected runs, measurements. Each prints what it shows."""

from gemlite_edu.draw.bars import fraction_of_limit, ladder
from gemlite_edu.draw.benchmarks import roofline, time_against_M
from gemlite_edu.draw.formats import warp_words, word
from gemlite_edu.draw.phases import timeline
from gemlite_edu.draw.plots import curves, histogram
from gemlite_edu.draw.reports import request, show, side_by_side

__all__ = [
    "curves",
    "fraction_of_limit",
    "histogram",
    "ladder",
    "request",
    "roofline",
    "show",
    "side_by_side",
    "time_against_M",
    "timeline",
    "warp_words",
    "word",
]
