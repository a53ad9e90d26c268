"""`Rung`: a kernel of the package, or gemv_a16wn_fast without the ideas of later rungs."""

from dataclasses import dataclass, replace

from gemlite_lab.bench.ladder import four_bits, two_bits
from gemlite_lab.bench.ladder.idea import Shape

FAST = "gemv_a16wn_fast"

# A rung begins when the kernel before it has ended, so that a rung's time is its own: these lines
# of gemv_a16wn_fast are left out of all rungs.
_EARLY_START = """\
  let_next_kernel_begin();
  bring_step(W_packed, N, steps, block * TILE_N, warp_id);
  wait_for_kernel_before();
"""


@dataclass(frozen=True)
class Rung:
    """A kernel that runs, and the gain that its idea promised.

    idea, predicts: one sentence each. kernel: a name that `load` takes. edits, shape: for a rung
    made of gemv_a16wn_fast, (old, new) pieces of its text, and its launch. is_kept: that kernel has
    the idea; if not, we tried the idea on top of it.
    """

    name: str
    idea: str
    predicts: str
    kernel: str = FAST
    edits: tuple[tuple[str, str], ...] = ()
    shape: Shape | None = None
    is_kept: bool = True

    def edited(self, text):
        """The text of gemv_a16wn_fast as this rung has it, without the early start.

        ValueError if an edit does not fit.
        """
        for old, new in ((_EARLY_START, ""), *self.edits):
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: the text has {text.count(old)} times\n{old}")
            text = text.replace(old, new)
        return text


def rungs(nbits):
    """The `Rung`s for codes of 4, 2 or 1 bits, from the scalar kernel to the ideas not kept.

    >>> [rung.name for rung in rungs(2)]
    ['one by one', 'exact codes', 'codes with an offset', '32 rows a warp']
    """
    if nbits == 4:
        return [_ONE_BY_ONE, _TWO_AT_ONCE, *_climb(four_bits), *_tried(four_bits)]
    if nbits in (2, 1):
        return [_ONE_BY_ONE, *_climb(two_bits)]
    raise ValueError(f"there is a ladder for 4, 2 and 1 bits, got {nbits!r}")


_ONE_BY_ONE = Rung(
    "one by one",
    "A warp takes a row; each code is shifted, masked, converted, and multiplied in fp32.",
    "7 instructions a weight at least. In their time 4.5 TB/s bring nearly two weights of 4 bits, "
    "three of 2 bits, six of 1 bit.",
    "gemv_a16wn_fp32",
)
_TWO_AT_ONCE = Rung(
    "two at once",
    "half2: two products and two additions in one instruction.",
    "One instruction a weight less of 7.",
    "gemv_a16wn_half2",
)


def _climb(ladder):
    """Rungs up to gemv_a16wn_fast, the last one; each rung below it lacks one more idea."""
    found, edits, shape = [], (), ladder.SHAPE
    for idea in reversed(ladder.IDEAS):
        found.append(Rung(idea.name, idea.idea, idea.predicts, FAST, edits, shape))
        edits, shape = edits + idea.edits, replace(shape, **idea.shape)
    return found[::-1]


def _tried(ladder):
    for idea in ladder.TRIED:
        shape = replace(ladder.SHAPE, **idea.shape)
        yield Rung(idea.name, idea.idea, idea.predicts, FAST, idea.edits, shape, is_kept=False)
