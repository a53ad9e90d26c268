"""Cases for every kernel and their right answers, for the simulator and for a GPU.

CASES holds every pair of values of two factors at least once (Kuhn, Kacker and Lei 2010, NIST
SP 800-142); their product would take 30 times as many.
"""

import random
from itertools import combinations, product
from typing import NamedTuple

import torch

from gemlite_edu import pack_warped_int32
from gemlite_edu.reference import matmul

PLAIN_KERNELS = [f"gemv_a16w16_{kind}" for kind in ("naive", "coalesced", "warp", "shared")]
PACKED_KERNELS = ["gemv_a16wn_fp32"]

VARIANTS = [*product(PACKED_KERNELS, range(1, 9)), *((name, None) for name in PLAIN_KERNELS)]
X_DTYPES = [torch.float16, torch.bfloat16]
PLAIN_WEIGHT_BITS = 5


class Case(NamedTuple):
    variant: tuple
    x_dtype: torch.dtype
    N: int
    K: int
    M: int
    per_row: bool

    @property
    def kernel(self):
        return self.variant[0]

    @property
    def nbits(self):
        return self.variant[1]

    def __str__(self):
        width = "" if self.nbits is None else f"-{self.nbits}bit"
        scope = "rows" if self.per_row else "tensor"
        dtype = str(self.x_dtype).removeprefix("torch.")
        return f"{self.kernel}{width}-{dtype}-N{self.N}-K{self.K}-M{self.M}-{scope}"


FACTORS = Case(
    variant=VARIANTS,
    x_dtype=X_DTYPES,
    N=[1, 31, 32, 33, 100],
    K=[1, 32, 96, 128, 1000, 1024, 1152, 4096],
    M=[1, 2, 3],
    per_row=[True, False],
)


def pairwise_cover(factors, seed):
    """Rows in which every pair of values of two factors occurs; greedy, the same in every run."""
    choose = random.Random(seed)
    missing = {
        ((i, a), (j, b))
        for i, j in combinations(range(len(factors)), 2)
        for a, b in product(factors[i], factors[j])
    }
    rows = []
    while missing:
        row = dict(min(missing, key=str))
        free = [i for i in range(len(factors)) if i not in row]
        choose.shuffle(free)
        for i in free:
            values = choose.sample(list(factors[i]), len(factors[i]))
            row[i] = max(values, key=lambda value: len(missing & _pairs(row | {i: value})))
        missing -= _pairs(row)
        rows.append([row[i] for i in range(len(factors))])
    return rows


def _pairs(row):
    return set(combinations(sorted(row.items(), key=lambda item: item[0]), 2))


CASES = [Case(*row) for row in pairwise_cover(FACTORS, seed=0)]


class Inputs(NamedTuple):
    """What a kernel takes, with W_real (N, K) and expected (M, N), both float64."""

    x: torch.Tensor
    W: torch.Tensor
    scales: torch.Tensor | float | None
    zeros: torch.Tensor | float | None
    W_real: torch.Tensor
    expected: torch.Tensor

    def operands(self, device="cpu"):
        """x, W and, if W is packed, scales and zeros; tensors on `device`."""
        operands = [self.x, self.W]
        if self.scales is not None:
            operands += [self.scales, self.zeros]
        return [o.to(device) if isinstance(o, torch.Tensor) else o for o in operands]


def make_case(case, exact=True, seed=0):
    """The `Inputs` of a case, on the CPU.

    exact: every product, every partial sum and every output is exact in fp32, so that
        `expected.to(x_dtype)` is the only right answer, whatever the order of the additions.
        Otherwise the values are random and a kernel may differ by `reference.error_bound`.
    """
    generator = torch.Generator().manual_seed(seed)
    nbits = case.nbits or PLAIN_WEIGHT_BITS
    make = _exact_values if exact else _random_values
    x, codes, scales, zeros = make(case, nbits, generator)
    x = x.to(case.x_dtype)
    W_real = (codes - zeros.double()) * scales.double()
    if case.nbits is None:
        W = W_real.to(case.x_dtype)
        W_real = W.double()
        scales = zeros = None
    else:
        W = pack_warped_int32(codes.to(torch.uint8), case.nbits)
        if not case.per_row:
            scales, zeros = scales.item(), zeros.item()
    return Inputs(x, W, scales, zeros, W_real, matmul(x, W_real))


def _exact_values(case, nbits, generator):
    """Small integers and powers of two whose outputs stay below 2**11 quanta.

    Columns come in pairs, at random places, that nearly cancel, so that fp16 holds the outputs
    exactly and a single wrong code shows. One or two columns have no partner: the zeros would
    cancel, too.
    """
    M, N, K = case.M, case.N, case.K
    largest = 2**nbits - 1
    codes = _integers(0, largest, (N, K), generator)
    signs = 2 * _integers(0, 1, (M, K), generator) - 1
    x = signs * _integers(1, 3, (M, K), generator)
    zeros = _integers(1, largest, (N, 1), generator)
    scales = 2.0 ** _integers(-6, 3, (N, 1), generator)
    if not case.per_row:
        zeros, scales = zeros[:1], scales[:1]

    places = torch.randperm(K, generator=generator)
    n_pairs = (K - 1) // 2
    one, other, lone = places.split([n_pairs, n_pairs, K - 2 * n_pairs])
    x[:, other] = -x[:, one]
    x[:, lone] = x[:, lone].abs()
    nudges = _integers(-1, 1, (N, n_pairs), generator)
    codes[:, other] = (codes[:, one] + nudges).clamp(0, largest)

    quanta = (codes - zeros).double()
    assert (x.abs().double() @ quanta.abs().T).max() < 2**24
    assert (x.double() @ quanta.T).abs().max() < 2**11
    return x, codes, scales.float(), zeros.float()


def _random_values(case, nbits, generator):
    M, N, K = case.M, case.N, case.K
    scope = (N, 1) if case.per_row else (1, 1)
    x = torch.randn(M, K, generator=generator)
    codes = _integers(0, 2**nbits - 1, (N, K), generator)
    scales = (0.5 + torch.rand(scope, generator=generator)) / 2**nbits
    zeros = torch.rand(scope, generator=generator) * (2**nbits - 1)
    return x, codes, scales, zeros


def _integers(low, high, shape, generator):
    return torch.randint(low, high + 1, shape, generator=generator)
