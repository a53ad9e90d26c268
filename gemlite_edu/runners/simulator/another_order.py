"""Run an inspected launch again with its threads in another order, to see what comes of it."""

from contextlib import contextmanager
from contextvars import ContextVar

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners.simulator.arguments import Tensor
from gemlite_edu.runners.simulator.dependence import with_own_outputs
from gemlite_edu.runners.simulator.fault_sentences import fault_sentence
from gemlite_edu.runners.simulator.run import run_once, tensors_by_name
from gemlite_edu.runners.simulator.runner_process import DONE

_LISTS = ContextVar("the list that takes what other orders gave", default=None)
ANY_SEED = 1
_BLOCKS_AT_A_TIME = 4


@contextmanager
def in_another_order():
    """In this context each inspected launch without a finding also runs in another order.

    The threads of a block go one by one there, in an order drawn by lot, and change places above
    all at atomic operations; several blocks run at a time. The list that the context gives gets the
    output of each such run, or the KernelFault that ended it.
    """
    outcomes = []
    token = _LISTS.set(outcomes)
    try:
        yield outcomes
    finally:
        _LISTS.reset(token)


def again_in_another_order(library, arguments, launch, time_limit):
    """A function that makes the second run, if the context asks for it; call this before the first.

    library: from `build_instrumented_kernel`.
    """
    outcomes = _LISTS.get()
    if outcomes is None:
        return lambda: None
    own = with_own_outputs(arguments)
    workers = min(launch.grid[0] * launch.grid[1], _BLOCKS_AT_A_TIME)

    def run():
        sites = library.parent / "sites.txt"
        raw, printed = run_once(library, own, launch, time_limit, workers, sites, ANY_SEED)
        status = raw.rpartition("\n")[2]
        if status == DONE:
            outcomes.append(next(a.value for a in own if isinstance(a, Tensor) and a.is_output))
        else:
            names = tensors_by_name(own)
            outcomes.append(KernelFault(fault_sentence(status, names, time_limit, printed)))

    return run
