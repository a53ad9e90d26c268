"""`Record`: what one warp did, step by step, in a window of an inspected run."""

from dataclasses import dataclass, field

from gemlite_edu.kernels.plan import Launch

MOST_STEPS = 1000


@dataclass(frozen=True)
class Window:
    """The steps of one warp to record: `steps` of them from step `first` on, counted from 0.

    block: the number of the block, x first; warp: of that block.
    """

    block: int = 0
    warp: int = 0
    first: int = 0
    steps: int = 100

    def __post_init__(self) -> None:
        for name in ("block", "warp", "first", "steps"):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise ValueError(f"a window's {name} must be an integer from 0 on, got {number!r}")
        if self.steps > MOST_STEPS:
            raise ValueError(f"a window has at most {MOST_STEPS} steps, got {self.steps}")

    @property
    def words(self) -> tuple[int, int, int, int]:
        """The window in a request to the runner."""
        return self.block, self.warp, self.first, self.steps

    def check(self, launch: Launch) -> None:
        """Raise ValueError if the window is empty, or of no block or warp of the launch."""
        blocks = launch.grid[0] * launch.grid[1]
        warps = -(-launch.threads_per_block // 32)
        if not self.steps:
            raise ValueError("a window must have at least 1 step, got steps=0")
        if self.block >= blocks or self.warp >= warps:
            raise ValueError(
                f"the launch has blocks 0 to {blocks - 1} and warps 0 to {warps - 1} in each, "
                f"got a window of block {self.block}, warp {self.warp}"
            )


NO_WINDOW = Window(steps=0)


@dataclass(frozen=True)
class Step:
    """What the lanes of the warp did at one moment; dicts are by lane, of those that took part.

    number: of the warp's steps, from 0. phase: how many barriers the block has passed. place:
    "file:line"; code: its text. calls: the functions around it, the innermost first, as (name,
    "file:line" where it is). op: "load", "store", "atomic"; "async_load", "async_store" of a copy,
    "commit" of a batch of copies, "wait" for them; "shuffle", "vote", "match", "__syncwarp" or the
    name of a matrix operation; "barrier"; "stop" where the run ended early. merged: how many steps
    of the simulator it stands for, where a GPU has one instruction. space: "global", "shared",
    "variable", or "" where no memory is reached; name: of the tensor or array. bytes_of: {lane: its
    first byte there}. element_bytes: of the tensor, or of the array's declared type. cost: sectors
    or wavefronts. sources: {lane: the lane whose value a shuffle gives it}. writers: {lane: the
    thread of the block that wrote what it loads from shared memory}. values: {lane: the numbers
    that it loads, stores or hands over, where they are known}; an atomic operation leaves them
    there, and mma_sync its sums. taken: {lane: what a shuffle gives it}. left: how many batches a
    "wait" leaves on their way. copies: {number of a batch: the warp's copies in it that are on
    their way before this step}. ended, waiting: the other lanes that have ended, or wait for
    others. faults: sentences; faulty: the lanes at fault.
    """

    number: int
    place: str
    code: str
    op: str
    phase: int = 0
    calls: tuple[tuple[str, str], ...] = ()
    merged: int = 1
    space: str = ""
    name: str = ""
    bytes_per_lane: int = 0
    element_bytes: int = 0
    cost: int = 0
    lanes: tuple[int, ...] = ()
    bytes_of: dict[int, int] = field(default_factory=dict)
    sources: dict[int, int] = field(default_factory=dict)
    writers: dict[int, int] = field(default_factory=dict)
    values: dict[int, tuple] = field(default_factory=dict)
    taken: dict[int, tuple] = field(default_factory=dict)
    left: int = 0
    copies: dict[int, int] = field(default_factory=dict)
    ended: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    faulty: tuple[int, ...] = ()


@dataclass(frozen=True)
class Record:
    """The recorded steps of a window.

    title: the report's. total: how many steps the warp made, recorded or not. first_fault: the
    number of its first step with a fault, or None. lines: {"file:line": text} of the kernel.
    """

    title: str
    window: Window
    steps: tuple[Step, ...]
    total: int
    first_fault: int | None
    lines: dict[str, str]
