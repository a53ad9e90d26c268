"""Run an inspected launch again with some results spoiled, to see if the outputs depend on them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from gemlite_edu.kernels.plan import Launch
from gemlite_edu.runners.simulator.another_order import ANY_SEED
from gemlite_edu.runners.simulator.arguments import Argument, Tensor
from gemlite_edu.runners.simulator.dependence import with_own_outputs
from gemlite_edu.runners.simulator.run import run_once
from gemlite_edu.runners.simulator.runner_process import DONE

SHUFFLES, SHARED = 1, 2  # as in runner/spoiled.h; mma takes its numbers by shuffles
_ASKED: ContextVar[tuple[int, list[bool]] | None] = ContextVar("what is spoiled", default=None)


@contextmanager
def spoiling(what: int) -> Iterator[list[bool]]:
    """In this context each inspected launch without a finding also runs with spoiled results.

    what: SHUFFLES, SHARED, or 0 for no such run. The list that the context gives gets for each
    launch whether its outputs depend on them; a run that breaks off does.
    """
    depends: list[bool] = []
    token = _ASKED.set((what, depends) if what else None)
    try:
        yield depends
    finally:
        _ASKED.reset(token)


def again_spoiled(
    library: Path, arguments: Sequence[Argument], launch: Launch, time_limit: float
) -> Callable[[], None]:
    """A function that makes the second run, if the context asks for it; call this before the first.

    library: from `build_instrumented_kernel`.
    """
    asked = _ASKED.get()
    if asked is None:
        return lambda: None
    what, depends = asked
    own = with_own_outputs(arguments)

    def run() -> None:
        sites = library.parent / "sites.txt"
        raw, _ = run_once(library, own, launch, time_limit, 1, sites, ANY_SEED, spoiled=what)
        is_same = raw.rpartition("\n")[2] == DONE and all(
            ours.value.equal(theirs.value)
            for ours, theirs in zip(own, arguments, strict=True)
            if isinstance(ours, Tensor) and isinstance(theirs, Tensor) and ours.is_output
        )
        depends.append(not is_same)

    return run
