"""Pictures of words, requests, inspected runs and measurements. Each also prints its content."""

from gemlite_lab.draw.bars import fraction_of_limit, ladder
from gemlite_lab.draw.benchmarks import roofline, time_against_M
from gemlite_lab.draw.bitnet_2bit import bitnet_2bit
from gemlite_lab.draw.block_anatomy import block_anatomy
from gemlite_lab.draw.chunks import chunks
from gemlite_lab.draw.code_pairs import code_pairs
from gemlite_lab.draw.dots import dots
from gemlite_lab.draw.fast_block import fast_block
from gemlite_lab.draw.formats import warp_words, word
from gemlite_lab.draw.fragments import fragments, owners
from gemlite_lab.draw.gemv_mma import gemv_mma
from gemlite_lab.draw.groups import groups
from gemlite_lab.draw.half_bits import half_bits
from gemlite_lab.draw.int4_pairs import int4_pairs
from gemlite_lab.draw.issue_slots import issue_slots
from gemlite_lab.draw.journey import journey
from gemlite_lab.draw.lane_words import lane_words
from gemlite_lab.draw.mma import mma
from gemlite_lab.draw.number_lines import number_lines
from gemlite_lab.draw.overlap import overlap
from gemlite_lab.draw.phases import timeline
from gemlite_lab.draw.plane_tiles import plane_tiles
from gemlite_lab.draw.planes import planes
from gemlite_lab.draw.play import play
from gemlite_lab.draw.plots import curves, histogram
from gemlite_lab.draw.programs import programs
from gemlite_lab.draw.reports import request, show, side_by_side
from gemlite_lab.draw.reuse import reuse
from gemlite_lab.draw.rows import rows
from gemlite_lab.draw.ruler import ruler
from gemlite_lab.draw.shuffle_tree import shuffle_tree
from gemlite_lab.draw.sparse import sparse_pairs, sparse_word
from gemlite_lab.draw.staging import staging
from gemlite_lab.draw.steps import steps
from gemlite_lab.draw.threads import threads
from gemlite_lab.draw.tile_banks import tile_banks
from gemlite_lab.draw.warp_turns import warp_turns
from gemlite_lab.draw.widths import time_against_bits

__all__ = [
    "warp_turns",
    "half_bits",
    "gemv_mma",
    "code_pairs",
    "block_anatomy",
    "bitnet_2bit",
    "chunks",
    "curves",
    "dots",
    "fast_block",
    "fraction_of_limit",
    "fragments",
    "groups",
    "histogram",
    "int4_pairs",
    "issue_slots",
    "journey",
    "ladder",
    "lane_words",
    "mma",
    "number_lines",
    "overlap",
    "owners",
    "plane_tiles",
    "planes",
    "play",
    "programs",
    "request",
    "reuse",
    "roofline",
    "rows",
    "ruler",
    "show",
    "shuffle_tree",
    "side_by_side",
    "sparse_pairs",
    "sparse_word",
    "staging",
    "steps",
    "threads",
    "tile_banks",
    "time_against_M",
    "time_against_bits",
    "timeline",
    "warp_words",
    "word",
]
