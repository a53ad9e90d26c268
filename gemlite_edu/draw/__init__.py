"""Floor 5: pictures of words, requests, inspected runs, measurements. Each prints what it shows."""

from gemlite_edu.draw.bars import fraction_of_limit, ladder
from gemlite_edu.draw.benchmarks import roofline, time_against_M
from gemlite_edu.draw.bitnet_2bit import bitnet_2bit
from gemlite_edu.draw.chunks import chunks
from gemlite_edu.draw.formats import warp_words, word
from gemlite_edu.draw.fragments import fragments
from gemlite_edu.draw.groups import groups
from gemlite_edu.draw.int4_pairs import int4_pairs
from gemlite_edu.draw.number_lines import number_lines
from gemlite_edu.draw.phases import timeline
from gemlite_edu.draw.plane_tiles import plane_tiles
from gemlite_edu.draw.planes import planes
from gemlite_edu.draw.plots import curves, histogram
from gemlite_edu.draw.reports import request, show, side_by_side
from gemlite_edu.draw.rows import rows
from gemlite_edu.draw.sparse import sparse_pairs, sparse_word
from gemlite_edu.draw.steps import steps
from gemlite_edu.draw.widths import time_against_bits

__all__ = [
    "bitnet_2bit",
    "chunks",
    "curves",
    "fraction_of_limit",
    "fragments",
    "groups",
    "histogram",
    "int4_pairs",
    "ladder",
    "number_lines",
    "plane_tiles",
    "planes",
    "request",
    "roofline",
    "rows",
    "show",
    "side_by_side",
    "sparse_pairs",
    "sparse_word",
    "steps",
    "time_against_M",
    "time_against_bits",
    "timeline",
    "warp_words",
    "word",
]
