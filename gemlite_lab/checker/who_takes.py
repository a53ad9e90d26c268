"""Exercise of ladder_memory: write who_takes, the block, the warp and the turn of a step of W.

The right output comes from the loop itself, turn by turn; the answer has to invert it.
"""

from dataclasses import dataclass, replace

import torch

from gemlite_lab.checker.alike_numbers import alike
from gemlite_lab.checker.exercise import CheckFailed, Exercise
from gemlite_lab.draw.warp_turns import turns_of_warp
from gemlite_lab.sandbox.many_calls import results

_NAME = "who_takes"


@dataclass(frozen=True)
class _Launch:
    """`blocks` blocks of `warps` warps, at most `steps`, on tiles of so many steps.

    The answer is asked for the tiles from `first` on.
    """

    blocks: int
    warps: int
    tiles: int
    steps: int
    first: int = 0

    @property
    def label(self):
        of_blocks = f"{self.blocks} blocks of {self.warps} warps"
        asked = f", the last {self.tiles - self.first} of them" if self.first else ""
        return f"{of_blocks}, {self.tiles} tiles of {self.steps} steps{asked}"

    @property
    def sizes(self):
        """{name: number} of the launch itself."""
        return {name: number for name, number in vars(self).items() if name != "first"}


def _cases():
    base = _Launch(3, 4, 7, 6)
    return [
        base,
        replace(base, blocks=2),
        replace(base, warps=3),
        replace(base, steps=7),
        _Launch(2, 3, 5, 3),  # a turn for each tile
        _Launch(1, 4, 3, 10),
        _Launch(5, 2, 5, 9),  # one tile for each block
        _Launch(4, 1, 9, 5),
        _Launch(5, 16, 23, 40),
        _Launch(2, 49, 5, 100),  # 49 * (1 / 49) is less than 1 in float64
        _Launch(132, 3, 300, 4),
        _Launch(3, 4, 24_001, 9, first=24_000),  # a block's steps fill more than 16 bits
        _Launch(2**24 + 3, 2, 2**25 + 11, 3, first=2**25 + 8),
        _Launch(2**33 + 1, 3, 2**34 + 5, 4, first=2**34),
    ]


def _fresh(seed):
    generator = torch.Generator().manual_seed(seed)
    draw = [int(torch.randint(2, 9, (), generator=generator)) for _ in range(4)]
    blocks, warps, more_tiles, more_steps = draw
    launch = _Launch(blocks, warps, blocks + 3 * more_tiles, warps + more_steps)
    base = _Launch(4, 6, 14, 12)
    alikes = alike(base.sizes, steps=dict.fromkeys(base.sizes, 1))
    others = (replace(base, **changed) for changed in alikes)
    large = (
        _Launch(100 + blocks, 2, 400 + more_tiles, 3),
        _Launch(3, 32 + warps, 6, 100 + more_steps),
    )
    return [launch, *large, base, *filter(_is_possible, others)]


def _is_possible(launch):
    return launch.warps <= launch.steps and launch.blocks <= launch.tiles


def _expected(launch):
    who = {}
    for block in {tile % launch.blocks for tile in range(launch.first, launch.tiles)}:
        for warp in range(launch.warps):
            turns = turns_of_warp(block, warp, **launch.sizes)
            who |= {place: (block, warp, turn) for turn, place in enumerate(turns)}
    return torch.tensor([who[place] for place in _places(launch)]).view(_shape(launch)), None


def _places(launch):
    """[(tile, step)] of which the answer is asked."""
    return [(t, s) for t in range(launch.first, launch.tiles) for s in range(launch.steps)]


def _shape(launch):
    return launch.tiles - launch.first, launch.steps, 3


def _run(answer, launch, device):
    rest = launch.blocks, launch.warps, launch.steps
    places = _places(launch)
    returned = answer.run(results, [(*place, *rest) for place in places])
    if all(found is None for found in returned):
        raise CheckFailed(f"{_NAME} returned None: write it, and return block, warp, turn")
    who = [_three(place, rest, found) for place, found in zip(places, returned, strict=True)]
    return torch.tensor(who).view(_shape(launch))


def _three(place, rest, found):
    """The answer's three numbers as a list of int."""
    call = f"{_NAME}{(*place, *rest)}"
    if isinstance(found, torch.Tensor) and found.dim() == 1:
        found = found.tolist()
    if not isinstance(found, list | tuple) or len(found) != 3:
        raise CheckFailed(f"{call} returned {found!r}: return three numbers, block, warp, turn")
    plain = [value.item() if isinstance(value, torch.Tensor) else value for value in found]
    if not all(type(value) is int or _is_whole(value) for value in plain):
        raise CheckFailed(f"{call} returned {found!r}: all three are whole numbers")
    return [int(value) for value in plain]


def _is_whole(value):
    return type(value) is float and value.is_integer()


WHO_TAKES = Exercise(
    name=_NAME,
    lesson="ladder_memory",
    output="who",
    dtype=torch.int64,
    is_kernel=False,
    hints=(
        "First the block alone. Which tiles are those of block 0, and which those of block 1? Then "
        "forget the other blocks, and write down the block's own steps in the order in which its "
        "warps take them.",
        "How many steps has the block before this one: in its own tiles that came earlier, and in "
        "this tile? A block's earlier tiles are blocks apart.",
        "Number the block's own steps from 0: (its tiles before this one) * steps + step. Its "
        "warps take these in turn, so warp 0 has numbers 0, warps, 2 * warps, and so on. Which "
        "operations give the warp and the turn of a number?",
    ),
    cases=_cases,
    fresh=_fresh,
    expected=_expected,
    run=_run,
    runs_in="gemlite_lab.sandbox.many_calls",
)
