"""Order the basic blocks of a function such that lanes that diverge meet again.

Each block comes before its successors, and a whole loop comes before the blocks that follow it,
wherever the compiler has placed them. This is the weak topological order of Bourdoncle, "Efficient
chaotic iteration strategies with widenings" (1993).
"""

import bisect
import re

_LABEL = re.compile(r"^(\.?\w+):", re.MULTILINE)
JUMP = re.compile(r"^\s+(j\w+|b(?:\.\w+)?|cbn?z|tbn?z|ret)\b(?:.*?(\.L\w+))?.*$", re.MULTILINE)
_UNCONDITIONAL = ("jmp", "b", "ret")


def program_order(assembly, places):
    """The rank, counted from 0, of each of `places`, which are positions in an assembly text."""
    starts, follows, functions = _blocks(assembly)
    rank_of = {}
    for first, end in zip(functions, [*functions[1:], len(starts)], strict=True):
        for block in _order(range(first, end), follows):
            rank_of[block] = len(rank_of)
    block_of = {place: bisect.bisect(starts, place) - 1 for place in places}
    ordered = sorted(places, key=lambda place: (rank_of[block_of[place]], place))
    number = {place: rank for rank, place in enumerate(ordered)}
    return [number[place] for place in places]


def _blocks(assembly):
    """(start of each basic block, {block: possible successors}, first block of each function)."""
    labels = {label[1]: label.start() for label in _LABEL.finditer(assembly)}
    jumps = list(JUMP.finditer(assembly))
    inner = [start for name, start in labels.items() if re.fullmatch(r"\.L\d+", name)]
    outer = [start for name, start in labels.items() if not name.startswith(".")]
    starts = sorted({0, *inner, *outer, *(jump.end() for jump in jumps)})
    functions = sorted({0, *(bisect.bisect(starts, start) - 1 for start in outer)})
    follows = {block: [block + 1] for block in range(len(starts) - 1)} | {len(starts) - 1: []}
    for jump in jumps:
        block = bisect.bisect(starts, jump.start()) - 1
        if jump[1] in _UNCONDITIONAL:
            follows[block] = []
        if jump[2] in labels:
            follows[block].append(bisect.bisect(starts, labels[jump[2]]) - 1)
    return starts, follows, functions


def _order(blocks, follows):
    """Yield a function's blocks, or a loop's without its first block, in weak topological order."""
    blocks = set(blocks)
    for component in _components(sorted(blocks), blocks, follows):
        if len(component) == 1:
            yield component[0]
            continue
        entered = {b for a in blocks - set(component) for b in follows[a]}
        head = min(entered.intersection(component), default=min(component))
        yield head
        yield from _order(set(component) - {head}, follows)


def _components(roots, blocks, follows):
    """The strongly connected components, each before its successors (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []
    for root in roots:
        if root in index:
            continue
        work = [(root, None)]
        while work:
            block, successors = work.pop()
            if successors is None:
                index[block] = low[block] = len(index)
                stack.append(block)
                successors = iter([b for b in follows[block] if b in blocks])
            for successor in successors:
                if successor not in index:
                    work += [(block, successors), (successor, None)]
                    break
                if successor in stack:
                    low[block] = min(low[block], low[successor])
            else:
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[block])
                if low[block] == index[block]:
                    at = stack.index(block)
                    found.append(sorted(stack[at:]))
                    del stack[at:]
    return found[::-1]
