"""A toy of a GPU as a timer sees it, so that benchmark scripts can go wrong on a laptop.

It models no real card. Its numbers are round, its clock is virtual, and it computes nothing. It has
four traps of real cards: a launch returns before its work is done, the first launch compiles,
weights that were read lately come from the L2, and some launches are interrupted.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

_INTERRUPTED_EVERY = 500


@dataclass(frozen=True, eq=False)
class ToyWeights:
    """Weights of `nbytes` bytes in the memory of a toy card."""

    nbytes: int


@dataclass(eq=False)
class _State:
    """now: the clock of the host; queue_end: when the card is done; l2: oldest weights first.

    held_bytes: the bytes of all weights in the L2.
    """

    now: float = 0.0
    queue_end: float = 0.0
    launches: int = 0
    l2: OrderedDict = field(default_factory=OrderedDict)
    held_bytes: int = 0


@dataclass(frozen=True, eq=False)
class ToyCard:
    """One new card: nothing is compiled, the L2 is empty, and its clock is at 0.

    You cannot change its settings; `dataclasses.replace` makes a new card with other ones.

    read_gb_per_s, l2_gb_per_s: how fast weights come from the memory and from the L2 (GB = 1e9).
    l2_bytes: the size of the L2. It holds weights that fit as a whole, and no part of others.
    start_us: how long each launch works on the card besides reading.
    launch_us, compile_us: how long the host is busy with each launch, and with the first one.
    interruption_us: how much longer one launch in 500 takes; first_interruption counts from 0.
    asynchronous: whether `launch` returns before its work is done.

    >>> card = ToyCard()
    >>> weights = card.weights(8_000_000)
    >>> start = card.clock()
    >>> card.launch(weights)
    >>> card.synchronize()
    >>> card.clock() - start
    100012.0
    """

    read_gb_per_s: float = 1000.0
    l2_bytes: int = 32_000_000
    l2_gb_per_s: float = 4000.0
    start_us: float = 4.0
    launch_us: float = 2.0
    compile_us: float = 100_000.0
    interruption_us: float = 5000.0
    first_interruption: int = 100
    asynchronous: bool = True
    _state: _State = field(default_factory=_State, init=False, repr=False)

    def __post_init__(self):
        if not (self.read_gb_per_s > 0 and self.l2_gb_per_s > 0):
            raise ValueError("read_gb_per_s and l2_gb_per_s must be above 0")

    @property
    def launches(self):
        """The number of launches on this card."""
        return self._state.launches

    def clock(self):
        """Microseconds on the clock of the host; reading it takes no time."""
        return self._state.now

    def weights(self, nbytes):
        """New weights of `nbytes` bytes, in the card's memory and not yet in its L2."""
        if not nbytes >= 1:
            raise ValueError(f"weights have at least 1 byte, got {nbytes}")
        return ToyWeights(nbytes)

    def launch(self, weights):
        """Queue a kernel that reads all of `weights` once; it runs when those before it are done.

        The host goes on after launch_us. An idle card begins at once, while the host is still busy.
        """
        if not isinstance(weights, ToyWeights):
            came = type(weights).__name__
            raise TypeError(f"launch what card.weights(nbytes) gives, got a {came}")
        state = self._state
        if state.launches == 0:
            state.now += self._compilation_us()
        state.queue_end = max(state.queue_end, state.now) + self._work_us(weights)
        state.launches += 1
        state.now += self.launch_us
        if not self.asynchronous:
            self.synchronize()

    def synchronize(self):
        """Wait until all queued work is done; the call itself takes no time."""
        self._state.now = max(self._state.now, self._state.queue_end)

    def _compilation_us(self):
        return self.compile_us

    def _work_us(self, weights):
        speed = self.l2_gb_per_s if self._read_from_l2(weights) else self.read_gb_per_s
        waiting = self.interruption_us if self._is_interrupted(self.first_interruption) else 0.0
        return self.start_us + weights.nbytes / (speed * 1e3) + waiting

    def _is_interrupted(self, first):
        """True if the next launch is interrupted on a card whose first such launch is `first`."""
        after_first = self._state.launches - first
        return after_first >= 0 and after_first % _INTERRUPTED_EVERY == 0

    def _read_from_l2(self, weights):
        """True if the L2 holds `weights`; reading puts them there in place of the oldest ones."""
        state, l2 = self._state, self._state.l2
        held = l2.pop(weights, 0)
        l2[weights] = weights.nbytes
        state.held_bytes += weights.nbytes - held
        while state.held_bytes > self.l2_bytes:
            _, nbytes = l2.popitem(last=False)
            state.held_bytes -= nbytes
        return held > 0
