"""Cases of the benchmark scripts: toy cards, and the weights to be timed on them."""

from dataclasses import dataclass, fields, replace

from gemlite_lab.lesson.toy_card import ToyCard
from gemlite_lab.sandbox.toy_cards import PatientCard, SlowerCard, new_card

# Each makes one card. Some card interrupts any given launch of a short script, and of a longer one
# at least one of any ten launches.
INTERRUPTIONS = (*range(40), *range(40, 500, 10))
_FEWER = 10  # of these cards, one in so many has another bandwidth in each check
LARGER_THAN_L2 = (  # GB/s, bytes of the L2, bytes of the weights
    *((1000, 8_000_000, 32_000_000), (500, 16_000_000, 20_000_000)),
    (2000, 4_000_000, 128_000_000),
)
ANY_SIZE = (
    *((1000, 32_000_000, 8_000_000), (2000, 50_000_000, 15_000_000)),
    (500, 4_000_000, 16_000_000),
)
OF_MANY_COPIES = (1000, 32_000_000, 2_500_000)
SMALL = (1000, 32_000_000, 40_000)  # so many copies that each round over them is interrupted
SMALL_ON_A_SLOW_CARD = (1, 57_600_000, 48_000)  # 1200 fit; one from the L2 among 1200 shows
LARGE_L2 = (1000, 2_000_000_000, 600_000_000)  # larger than what a script may take for any L2
LARGEST = (1000, 32_000_000, 6_000_000_000)  # takes longer than an interrupted launch elsewhere
NEARLY_THE_L2 = ((1000, 32_000_000, 21_000_000), (1000, 32_000_000, 32_000_000))  # one fits
HARDLY_INTERRUPTED = (  # (GB/s, bytes of the L2, bytes of the weights), microseconds longer, when
    # launches of 5 ms and of 12 us, whose interruptions a limit of twice the shortest time lets in
    ((1000, 32_000_000, 5_000_000_000), 4900.0, range(12)),
    ((1000, 32_000_000, 5_000_000_000), 1500.0, (1, 2, 100)),
    ((1000, 32_000_000, 8_000_000), 3.6, range(40)),
)


@dataclass(frozen=True)
class OnCards:
    """Weights of `nbytes` bytes, to be timed on new cards like `card`.

    interruptions: for each card, the first launch that is interrupted. is_patient: the cards wait
        for all work before the clock is read for the first time. slowness: how many times as long
        as their settings say the cards work, so that no time can be computed from the settings.
    """

    card: ToyCard
    nbytes: int
    interruptions: tuple[int, ...]
    is_patient: bool = False
    slowness: float = 1.0

    @property
    def settings(self):
        """The settings of the answer's cards; they do not say which launch is interrupted."""
        return {f.name: getattr(self.card, f.name) for f in fields(self.card) if f.init}

    @property
    def computed_us(self):
        """The time of one launch from the memory, if the settings told it."""
        return self.card.start_us + self.nbytes / (self.card.read_gb_per_s * 1e3)

    def new_card(self, first_interruption):
        """The card that an answer got."""
        kind = PatientCard if self.is_patient else SlowerCard
        return new_card(kind, self.settings, self.slowness, first_interruption)

    @property
    def label(self):
        sizes = f"{self.nbytes / 1e6:g} MB of weights, L2 of {self.card.l2_bytes / 1e6:g} MB"
        slower = "" if self.slowness == 1 else f", but {self.slowness:.3g} times as slow"
        longer = self.card.interruption_us
        interrupted = f", interruptions of {longer:g} us" if longer else ""
        return f"{sizes}, {self.card.read_gb_per_s:g} GB/s{interrupted}{slower}"


def on_cards(sizes, interruption_us=0.0, interruptions=(0,)):
    """A case for each (GB/s, bytes of the L2, bytes of the weights)."""
    return [
        OnCards(
            ToyCard(gb_per_s, l2_bytes, 4 * gb_per_s, interruption_us=interruption_us),
            nbytes,
            interruptions,
        )
        for gb_per_s, l2_bytes, nbytes in sizes
    ]


def on_a_slower_card(cases, seed):
    """One of the cases, with the very same settings and sizes, and slower work."""
    case = cases[seed % len(cases)]
    slowness = 1.05 + seed % 9967 / 2 / 9967
    return replace(case, interruptions=case.interruptions[::_FEWER], slowness=slowness)


def on_another_card(cases, seed):
    """One of the cases, with another bandwidth, sizes that are as far apart, and slower work."""
    case, scale = cases[seed % len(cases)], 1 + seed % 100003 / 100003
    slowness = 1.1 + seed % 9973 / 9973
    card = replace(
        case.card,
        read_gb_per_s=case.card.read_gb_per_s * scale,
        l2_gb_per_s=case.card.l2_gb_per_s * scale,
        l2_bytes=round(case.card.l2_bytes * scale),
    )
    nbytes, interruptions = round(case.nbytes * scale), case.interruptions[::_FEWER]
    return replace(case, card=card, nbytes=nbytes, interruptions=interruptions, slowness=slowness)
