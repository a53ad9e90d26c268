"""Exercise of fused_dequant: write words_of_lane, the words of a row that one lane takes.

The answer lists words; it is judged as a table of fixed shape, the step in which each lane takes
each word, so that a list that is too short gives the same kind of output as any other.
"""

from dataclasses import dataclass

import torch

from gemlite_edu.packing import WarpInterleaved
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.exercise import CheckFailed, Exercise
from gemlite_lab.checker.usual_sizes import usual_sizes
from gemlite_lab.sandbox.many_calls import results

_NAME = "words_of_lane"
_LAYOUT = WarpInterleaved(nbits=4)
_NEVER = -1
# Ragged and whole tiles, one tile and many, and neighbours at the end of a tile.
_KS = (1280, 1000, 256, 20, 255, 257, 512, 384, 1, 4096, 14336, 66_000, 257_000)


@dataclass(frozen=True)
class _Row:
    """A row of K codes of 4 bits."""

    K: int

    @property
    def label(self):
        return f"K = {self.K}"

    @property
    def words(self):
        """The words that hold the row."""
        return _LAYOUT.packed_shape(1, self.K)[1]


def _fresh(seed):
    generator = torch.Generator().manual_seed(seed)
    K = int(torch.randint(300, 9000, (), generator=generator))
    usual = {K for _, K in usual_sizes(seed)}
    return [_Row(K), _Row(K + 256), *map(_Row, sorted(usual))]


def _expected(row):
    words = torch.arange(row.words)
    lanes = torch.arange(WARP_SIZE)[:, None]
    return torch.where(words % WARP_SIZE == lanes, words // WARP_SIZE, _NEVER), None


def _run(answer, row, device):
    returned = answer.run(results, [(lane, row.K) for lane in range(WARP_SIZE)])
    steps = torch.full((WARP_SIZE, row.words), _NEVER)
    for lane, listed in enumerate(returned):
        step_of = _steps_of_words(lane, listed, row)
        steps[lane, list(step_of)] = torch.tensor(list(step_of.values()), dtype=steps.dtype)
    return steps


def _steps_of_words(lane, listed, row):
    """{word: step} of a lane. Raises CheckFailed for a word outside the row, or taken twice."""
    call, step_of = f"{_NAME}({lane}, {row.K})", {}
    words = _word_numbers(call, listed)
    for step, word in enumerate(words):
        if not 0 <= word < row.words:
            raise CheckFailed(
                f"{call} takes word {word} in step {step}, which is not in the row: it has "
                f"{row.words} words, 0 to {row.words - 1}{_of_too_many_steps(lane, words, row)}"
            )
        if word in step_of:
            raise CheckFailed(
                f"{call} takes word {word} twice, in steps {step_of[word]} and {step}: its "
                "codes would count twice"
            )
        step_of[word] = step
    return step_of


def _word_numbers(call, listed):
    if listed is None:
        raise CheckFailed(f"{_NAME} returned None: write it, and return words")
    if isinstance(listed, torch.Tensor) and listed.dim() == 1:
        listed = listed.tolist()
    if not isinstance(listed, list | tuple):
        raise CheckFailed(f"{call} returned the type {type(listed).__name__}: return a list")
    words = [word.item() if isinstance(word, torch.Tensor) else word for word in listed]
    if not all(type(word) is int or _is_whole(word) for word in words):
        raise CheckFailed(f"{call} returned {_short(listed)}: word numbers are whole numbers")
    return [int(word) for word in words]


def _is_whole(word):
    return type(word) is float and word.is_integer()


def _of_too_many_steps(lane, words, row):
    """How many steps the row has, where each word is right but for there being too many."""
    steps = row.words // WARP_SIZE
    if len(words) <= steps or words != [lane + WARP_SIZE * step for step in range(len(words))]:
        return ""
    return (
        f". A step takes {WARP_SIZE} words of 8 codes, 256 codes: K = {row.K} needs {steps} "
        f"step{'s' * (steps > 1)}, rounded up, and {len(words)} are taken"
    )


def _short(listed):
    shown = repr(listed)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."


WORDS_OF_LANE = Exercise(
    name=_NAME,
    lesson="fused_dequant",
    output="step_of_word",
    dtype=torch.int64,
    is_kernel=False,
    hints=(
        "Write down the words of lane 0 for K = 256, then for K = 257. What is different?",
        "A step takes one word per lane, 32 neighbours; so how many words on is the lane's next "
        "one? And a step needs 32 words of 8 codes: how many steps has a row of K codes?",
        "There are K / 256 steps, rounded up, because the row is padded to whole tiles; in step t "
        "the words 32 t to 32 t + 31 are taken, in the order of the lanes.",
    ),
    cases=lambda: [_Row(K) for K in _KS],
    fresh=_fresh,
    expected=_expected,
    run=_run,
    runs_in="gemlite_lab.sandbox.many_calls",
)
