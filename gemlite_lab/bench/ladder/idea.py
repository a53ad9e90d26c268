"""`Idea`: an idea of the fast kernel, the gain it promises, and the kernel without it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """How a rung is launched for one row of x.

    warps: warps per block, fewer if K has fewer steps. blocks: blocks that run on a multiprocessor
    at once and divide the tiles among them; None: one block per tile. rows: rows of W in a tile.
    stages_x: whether blocks copy x into shared memory.
    """

    warps: int
    blocks: int | None
    rows: int = 16
    stages_x: bool = True


@dataclass(frozen=True)
class Idea:
    """One idea, and how to take it out of the kernel or put it in.

    idea, predicts: the idea, and the gain that arithmetic alone predicts.
    edits, shape: (old, new) pieces of the kernel's text, and fields of `Shape`. They remove an idea
    that the kernel has, and add one that it does not have.
    """

    name: str
    idea: str
    predicts: str
    edits: tuple[tuple[str, str], ...] = ()
    shape: dict = field(default_factory=dict)
