"""Measure one step of one model, or say why its time cannot be believed."""

from dataclasses import dataclass
from functools import partial

import torch

from gemlite_edu.runners.timing import Timing, time_replays
from gemlite_lab.bench.card import clocks
from gemlite_lab.bench.measuring import LIMIT_MARGIN, Refused
from gemlite_lab.bench.model.checks import Tokens, check_layers, check_tokens
from gemlite_lab.bench.model.steps import PROMPT, Decode, Prefill
from gemlite_lab.bench.roofline import floor_us

BATCHES, TEXTS = (1, 4, 16, 64), (128, 1024, 4096)
_WARM_UPS = 2
_AS_IS_REPLAYS = 5  # the host's times differ far more from one another, and are long
# All layers share a graph. Should torch find that a peer's differ, each may have one of its own.
_MOST_GRAPHS = 64
_L2_MULTIPLE = 4
# Products of other shapes reached up to a tenth more than the one by which the card was measured.
_RATE_MARGIN = 1.1


@dataclass(frozen=True)
class Cell:
    """A step to measure. size: texts for "decode", tokens of the one text for "prefill"."""

    phase: str
    size: int

    @property
    def context(self):
        """How many tokens of a text come before the decoded one; 0 for a prefill."""
        return PROMPT if self.phase == "decode" else 0

    def step_of(self, built):
        """The `Decode` or `Prefill` of a model."""
        return (Decode if self.phase == "decode" else Prefill)(built, self.size)


CELLS = tuple(
    Cell(phase, size)
    for phase, sizes in (("decode", BATCHES), ("prefill", TEXTS))
    for size in sizes
)


@dataclass(frozen=True)
class Result:
    """timing: microseconds of a step, compiled and in a CUDA graph. as_is_us: as torch runs it.

    linear_us: of its linear layers alone, in a CUDA graph. peak_bytes: the most that weights,
    cache and temporary tensors took at once. error: the largest of a layer. mhz: SM and memory.
    """

    timing: Timing
    as_is_us: float
    linear_us: float
    peak_bytes: int
    error: float
    tokens: Tokens
    mhz: tuple[int, int]


@torch.no_grad()
@torch._dynamo.config.patch(recompile_limit=_MOST_GRAPHS)
def measure(shape, built, reference, cell, card, held, gauges):
    """The `Result` of a `Cell`; raises `Refused`.

    built, reference: the contender's `Built` and that of dense weights of the same codes.
    held: bytes on the GPU that belong to neither the contender nor this measurement.
    """
    torch._dynamo.reset()  # forgets what was compiled for other sizes
    _refuse_warm(built, card)
    step = cell.step_of(built)
    step.read_prompt(reference)
    error = check_layers(shape, built, reference, step.rows, step.head_rows)
    clock = gauges.as_is_clock([partial(step.step, False)])
    as_is = time_replays(clock, _AS_IS_REPLAYS, before_each=step.reset)
    for _ in range(_WARM_UPS):
        step.step(gauges.compiles)
    step.reset()
    gauges.memory.reset()
    clock = gauges.graph_clock([partial(step.step, gauges.compiles)])
    texts, chosen = step.run(clock)
    peak = _peak_of(built, gauges.memory, held)
    tokens = check_tokens(reference, texts, chosen)
    timing = time_replays(clock, before_each=step.reset)
    mhz = clocks()
    _refuse_impossible(shape, built, cell, timing.p50, card)
    linear = time_replays(gauges.graph_clock([_linear_layers(shape, built, step)]))
    return Result(timing, as_is.p50, linear.p50, peak, error, tokens, mhz)


def _peak_of(built, memory, held):
    """The bytes beyond `held` at the peak; refuses fewer than those of the weights."""
    peak = memory.peak() - held
    if peak < built.weight_bytes:
        raise Refused(
            f"a peak of {peak:,} bytes cannot hold the weights' {built.weight_bytes:,}: other work "
            "on this GPU gave memory back"
        )
    return peak


def _linear_layers(shape, built, step):
    """A function that runs every linear layer of the model once; returns the head's y."""
    sizes, draw = shape.linears(), partial(torch.randn, device=built.device, dtype=built.dtype)
    rows = {K: draw(step.rows, K) for _, K in sizes.values()}
    x_of_head = draw(step.head_rows, shape.hidden)
    *layers, (_, head) = built.linears(shape).items()

    def run():
        for name, layer in layers:
            layer(rows[sizes[name][1]])
        return head(x_of_head)

    return run


def _refuse_warm(built, card):
    """All steps read all weights: they are cold if they are far more than the L2 holds."""
    least = _L2_MULTIPLE * card.l2_bytes
    if built.weight_bytes < least:
        raise Refused(
            f"the weights are {built.weight_bytes:,} bytes, and the L2 may keep them: measure a "
            f"model with at least {least:,}"
        )


def _refuse_impossible(shape, built, cell, us, card):
    """Refuse a time that is too short to read all weights and the cache, or to multiply."""
    nbytes = built.weight_bytes + shape.cache_bytes(cell.size, cell.context)
    if us < floor_us(nbytes, LIMIT_MARGIN * card.read_gb_per_s):
        raise Refused(
            f"{nbytes:,} bytes of weights and cache in {us:.1f} us are {nbytes / us / 1e3:.0f} "
            f"GB/s, and this card reads {card.read_gb_per_s:.0f}"
        )
    head_rows = cell.size if cell.phase == "decode" else 1
    tflops = shape.operations(cell.size, head_rows) / us / 1e6
    if tflops > _RATE_MARGIN * card.matmul_tflops:
        raise Refused(
            f"the products of this step in {us:.1f} us are {tflops:.0f} TFLOP/s, and this card "
            f"multiplies at {card.matmul_tflops:.0f}"
        )
