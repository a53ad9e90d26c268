"""An idea of the fast kernel: what it is, what it promises, and the text and launch without it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """How a rung is launched for one row of x.

    warps: of a block, where K has so many steps. blocks: that each multiprocessor has at once and
    that share out the tiles; None: a block for each tile. rows: of W in a tile. stages_x: into
    shared memory.
    """

    warps: int
    blocks: int | None
    rows: int = 16
    stages_x: bool = True


@dataclass(frozen=True)
class Idea:
    """idea, predicts: what it is and what it promises, the second by arithmetic alone.

    edits: (old, new) of the kernel's text, and shape: fields of `Shape`. Of an idea that is in the
    kernel they take it out again; of one that is not, they put it in.
    """

    name: str
    idea: str
    predicts: str
    edits: tuple[tuple[str, str], ...] = ()
    shape: dict = field(default_factory=dict)
