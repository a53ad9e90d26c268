"""Threads and lanes in words."""

import re


def where(block_x, block_y, thread):
    """Describe a thread in words."""
    return f"block ({block_x}, {block_y}), thread {thread}"


def lanes_in(mask):
    """Describe in words the lanes whose bits are set.

    >>> lanes_in(0b1110001), lanes_in(8)
    ('lanes 0, 4-6', 'lane 3')
    """
    ranges = [(run.start(), run.end() - 1) for run in re.finditer("1+", f"{mask:b}"[::-1])]
    words = [f"{a}" if a == b else f"{a}-{b}" for a, b in ranges]
    return ("lanes " if mask & (mask - 1) else "lane ") + ", ".join(words)
