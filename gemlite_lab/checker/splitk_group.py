"""Exercise of notebook 11: repair splitk_group, a Split-K GEMM that takes wrong groups.

Inputs are exact, as in `grouped_cases`, and tell groups apart: all pairs of scale and zero of a row
of W differ. The first case is that of the text's author, on which it is right as it ships.
"""

from dataclasses import dataclass, replace
from functools import cache

import torch

from gemlite_edu.numbers import reference
from gemlite_edu.runners.triton import launch, replaced
from gemlite_lab.checker.exercise import Exercise

_QUANTUM = 1 / 16
_MAX_QUANTA = 2**24  # beyond, sums in float32 are not exact
_BLOCK_M, _BLOCK_N = 16, 32
_SHALLOWEST = 16  # the depth of the least deep tile of a tl.dot in fp16
_SHAPES = (  # chunks, BLOCK_K, GROUP, M, N, K
    (1, 32, 32, 3, 32, 128),
    (3, 32, 32, 3, 33, 384),
    (2, 32, 128, 5, 40, 288),  # 5 and 4 tiles; the last group is one tile
    (2, 32, 16, 17, 40, 240),  # the last tile is half empty
    (3, 64, 48, 5, 33, 400),
)


@dataclass(frozen=True)
class _SplitCase:
    """A Split-K GEMM: x (M, K) float16, W_q (N, K) uint8; scales, zeros (groups, N) float32."""

    label: str
    chunks: int
    block_k: int
    group_size: int
    W_q: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    x: torch.Tensor
    is_exact: bool = True


@cache
def _cases():
    return [_case(*shape, seed) for seed, shape in enumerate(_SHAPES)]


def _case(chunks, block_k, group_size, M, N, K, seed):
    generator = torch.Generator().manual_seed(seed)
    n, g = torch.arange(N), torch.arange(-(-K // group_size)).view(-1, 1)
    k = torch.arange(K)
    x = torch.randint(-3, 4, (M, K), generator=generator).half()
    x[k % M, k] = torch.randint(1, 4, (K,), generator=generator).half()
    case = _SplitCase(
        f"chunks = {chunks}, BLOCK_K = {block_k}, GROUP = {group_size}, M = {M}, N = {N}, K = {K}",
        chunks,
        block_k,
        group_size,
        torch.randint(0, 16, (N, K), dtype=torch.uint8, generator=generator),
        2.0 ** ((2 * n + 3 * g) % 5) * _QUANTUM,
        ((7 * n + 3 * g + 1) % 16).float(),
        x,
    )
    largest = reference.matmul(x.abs(), _weights(case, _right(case)).abs()).max() / _QUANTUM
    assert largest < _MAX_QUANTA, f"{case.label}: sums are not exact in float32"
    return case


def _weights(case, groups_of_scales, groups_of_zeros=None):
    """W (N, K) float64, if each k takes these groups."""
    groups_of_zeros = groups_of_scales if groups_of_zeros is None else groups_of_zeros
    scales, zeros = case.scales.double()[groups_of_scales], case.zeros.double()[groups_of_zeros]
    return ((case.W_q.double().T - zeros) * scales).T


def splitk_group_product(kernel, x, W_q, scales, zeros, group_size, block_k, chunks, device="cpu"):
    """y (M, N) float32 of an answer: its grid is (N / 32, M / 16, chunks), its chunks added up.

    scales, zeros: (groups, N). On the CPU every access is watched; what is not stored is NaN.
    """
    is_interpreted = device == "cpu"
    (M, K), N = x.shape, len(W_q)
    partial = torch.full((chunks, M, N), torch.nan, device=device)
    launch(
        replaced("gemm_splitk", is_interpreted, {"gemm_splitk": kernel}), is_interpreted,
        (-(-N // _BLOCK_N), -(-M // _BLOCK_M), chunks),
        *(tensor.to(device) for tensor in (x, W_q, scales, zeros)), partial, M, N, K,
        GROUP=group_size, BLOCK_M=_BLOCK_M, BLOCK_N=_BLOCK_N, BLOCK_K=block_k,
        watched=is_interpreted,
    )  # fmt: skip
    return partial.sum(0).cpu()


def _run(answer, case, device):
    operands = case.x, case.W_q, case.scales, case.zeros
    return splitk_group_product(
        answer, *operands, case.group_size, case.block_k, case.chunks, device
    )


class _Places:
    """Where each k of a case lies: its tile, counted within K and within its chunk."""

    def __init__(self, case):
        self.case, self.k = case, torch.arange(case.x.shape[1])
        self.tile = self.k // case.block_k
        tiles = int(self.tile[-1]) + 1
        self.tiles_of_a_chunk = -(-tiles // case.chunks)
        self.chunk = self.tile // self.tiles_of_a_chunk
        self.tile_in_chunk = self.tile % self.tiles_of_a_chunk
        self.depth = self.k % case.block_k


def _right(case):
    return torch.arange(case.x.shape[1]) // case.group_size


def _as_found(case):
    return _Places(case).tile_in_chunk * case.block_k // case.group_size


def _product(case, W):
    return reference.matmul(case.x, W).float()


def _taking(groups_of):
    """The mistake of taking other groups: groups_of(_Places) -> (K,); None where there are none."""

    def output(case):
        groups = groups_of(_Places(case))
        inside = 0 <= int(groups.min()) and int(groups.max()) < len(case.scales)
        return _product(case, _weights(case, groups)) if inside else None

    return output


def _of_tiles(tile_of):
    """The mistake of taking another number for the tile, or for that of one group a tile."""
    return _taking(lambda p: tile_of(p) * p.case.block_k // p.case.group_size)


def _whole_groups_in_a_chunk(p):
    block_k, group_size = p.case.block_k, p.case.group_size
    groups_of_a_chunk = p.tiles_of_a_chunk * block_k // group_size
    return p.chunk * groups_of_a_chunk + (p.tile_in_chunk * block_k + p.depth) // group_size


def _of_the_last_k(p):
    last = (p.tile + 1) * p.case.block_k - 1
    return last.clamp(max=len(p.k) - 1) // p.case.group_size


def _from_elements(case, at):
    """The output if scales and zeros are taken from these elements, (N, K) numbers."""
    scales, zeros = (t.double().flatten()[at] for t in (case.scales, case.zeros))
    return _product(case, (case.W_q.double() - zeros) * scales)


def _n_before_division(case):
    if case.group_size <= case.block_k:
        return None  # nothing is left over
    at = _Places(case).tile * case.block_k * len(case.W_q) // case.group_size
    at = at + torch.arange(len(case.W_q)).view(-1, 1)
    return _from_elements(case, at) if int(at.max()) < case.scales.numel() else None


def _as_rows_of_groups(case):
    n, groups = torch.arange(len(case.W_q)).view(-1, 1), len(case.scales)
    return _from_elements(case, n * groups + _right(case))


def _of_squares(k_and_n_of):
    """The mistake of mixing up the axes of a tile, which goes unseen only where it is square.

    k_and_n_of(k_of, n_of, i, j): what place (i, j) of a tile takes for its k and its n,
    k_of(j) and n_of(i) being right.
    """

    def output(case):
        if case.block_k != _BLOCK_N:
            return None
        p, (N, K) = _Places(case), case.W_q.shape
        n = torch.arange(N).view(-1, 1)

        def k_of(place):
            return (p.tile * case.block_k + place) % K

        def n_of(place):
            return (n // _BLOCK_N * _BLOCK_N + place) % N

        k, row = k_and_n_of(k_of, n_of, n % _BLOCK_N, p.depth)
        return _from_elements(case, k // case.group_size * N + row)

    return output


def _unsplit(case):
    return replace(case, chunks=1)


def _shallow(case):
    return replace(case, block_k=_SHALLOWEST)


SPLITK_GROUP = Exercise(
    name="splitk_group",
    notebook="11_triton_gemm",
    output="y",
    dtype=torch.float32,
    is_kernel=False,
    is_triton=True,
    hints=(
        "Write down, for chunk 1, which k its tile 0 holds and which group_index it takes.",
        "Each k has its group, whoever adds it up: the group follows from k within all of K. And "
        "may all k of a tile share one?",
        "k is a tensor of BLOCK_K numbers, so k // GROUP is one group for each of them: load "
        "scales and zeros as tensors (BLOCK_N, BLOCK_K), as codes are.",
    ),
    cases=_cases,
    expected=lambda case: (_product(case, _weights(case, _right(case))), None),
    run=_run,
    mistakes={
        "the chunk's number is added to the tile's; a chunk is tiles_of_a_chunk tiles": _of_tiles(
            lambda p: p.chunk + p.tile_in_chunk
        ),
        "the chunk's number is multiplied by how many chunks there are, not by their tiles": (
            _of_tiles(lambda p: p.chunk * p.case.chunks + p.tile_in_chunk)
        ),
        "tiles go round the chunks, tile * chunks + chunk; a chunk's are neighbours": _of_tiles(
            lambda p: p.tile_in_chunk * p.case.chunks + p.chunk
        ),
        "every k takes group 0, because a division of too small a number gave 0": _taking(
            lambda p: 0 * p.k
        ),
        "a chunk is taken to have a whole number of groups": _taking(_whole_groups_in_a_chunk),
        "the group is that of the tile's last k": _taking(_of_the_last_k),
        "N is multiplied before the division by GROUP, and so a part of a row is left over": (
            _n_before_division
        ),
        "scales and zeros are read as (N, groups); here they are (groups, N)": _as_rows_of_groups,
        "only the scales take the new group, the zeros the old one": lambda case: _product(
            case, _weights(case, _right(case), _as_found(case))
        ),
        "only the zeros take the new group, the scales the old one": lambda case: _product(
            case, _weights(case, _as_found(case), _right(case))
        ),
        "the group of each k goes to one row of W each: it lacks [None, :]": _of_squares(
            lambda k_of, n_of, i, j: (k_of(i), n_of(i))
        ),
        "scales and zeros come as (BLOCK_K, BLOCK_N); weights are (BLOCK_N, BLOCK_K)": _of_squares(
            lambda k_of, n_of, i, j: (k_of(i), n_of(j))
        ),
    },
    traps={
        "K were one chunk": _unsplit,
        f"tiles were {_SHALLOWEST} deep, and so no tile had two groups": _shallow,
    },
)
