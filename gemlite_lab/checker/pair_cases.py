"""4-bit GEMVs at the memory limit on which every wrong dequant_pair fails, and how to run them.

They are like `grouped_cases`, but y is float16 and may be rounded once from an exact float32 sum.
"""

from dataclasses import replace

import torch

from gemlite_edu.numbers.bounds import parts_error_bound
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_edu.runners.load import load
from gemlite_lab.checker.exercise import CheckFailed, run_watched
from gemlite_lab.checker.grouped_cases import GroupedCase, exact_grouped, with_rows
from gemlite_lab.lesson.real_layer import real_layer

NBITS, TILE = 4, 128
_N, _TIME_LIMIT = 40, 10.0
_WORDS_OF_TILE = TILE // 8
_SHIFTS = torch.arange(0, 32, NBITS)


def weights_themselves(end_of_codes):
    """Scales are 1, zeros 0 and x the identity, so a wrong weight is one wrong element of y."""
    K, group_size = TILE, 32
    W_q = _telling_codes() % end_of_codes
    ones = torch.ones(_N, K // group_size)
    label = (
        f"M = {K}, N = {_N}, K = {K}, codes 0 to {end_of_codes - 1}, x the identity: "
        "y[k, n] is what dequant_pair makes of code (n, k)"
    )
    x = torch.eye(K).half()
    return GroupedCase(label, NBITS, group_size, W_q, ones, 0 * ones, x, is_exact=True)


def _telling_codes(seed=0):
    """Codes (N, TILE) of words on which an answer that treats some words apart is wrong.

    There are all words of four equal bytes, of one code in each half, and of one bit that is set or
    not set alone. The others are drawn.
    """
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(0, 2**32, (_N * _WORDS_OF_TILE,), generator=generator)
    byte, bit = torch.arange(256), 1 << torch.arange(32)
    halves = byte // 16 * 0x1111 << 16 | byte % 16 * 0x1111
    chosen = torch.cat([byte * 0x01010101, halves, bit, 2**32 - 1 - bit])
    words[: len(chosen)] = chosen
    words = words[torch.randperm(len(words), generator=generator)]
    fields = words[:, None] >> _SHIFTS & 15
    # (n, half of a tile, place of the word, half, field) as k = 64 a + 16 field + 2 place + half
    codes = fields.view(_N, 2, 8, 2, 4).permute(0, 1, 4, 2, 3)
    return codes.reshape(_N, TILE).to(torch.uint8)


def of_telling_words(seed=0):
    """An exact case of whole tiles, with words as in `weights_themselves`."""
    case = exact(group_size=32, K=TILE, seed=seed)
    label = f"{case.label}, words of equal bytes"
    return replace(case, label=label, W_q=_telling_codes(seed))


def exact(group_size, K, M=16, seed=None):
    """A `GroupedCase` with exact inputs and M rows. M must divide 16; seed: K by default."""
    return with_rows(exact_grouped(NBITS, group_size, _N, K, K if seed is None else seed), M)


def of_a_full_block():
    """An exact case of 32 warps, the most of a block; two of them have more to do than the rest."""
    N, K, group_size = 16, 34 * TILE, 256
    W_q = torch.randint(0, 2**NBITS, (N, K), generator=torch.Generator().manual_seed(0))
    n, group, i = torch.arange(N).view(-1, 1), torch.arange(K // group_size), torch.arange(K // 64)
    x = torch.zeros(1, K, dtype=torch.float16)
    x[0, 64 * i + 13 * i % 64] = (1.0 - 2 * (i % 2)).half()
    label = f"{NBITS}-bit, groups of {group_size}, M = 1, N = {N}, K = {K}, blocks of 32 warps"
    scales, zeros = 2.0 ** ((2 * n + 3 * group) % 5 - 4), (7 * n + 3 * group + 1) % 2.0**NBITS
    W_q = W_q.to(torch.uint8)
    return GroupedCase(label, NBITS, group_size, W_q, scales, zeros, x, is_exact=True)


def extreme(group_size, K):
    """A case, also exact, with one row of very large x and one row of subnormal x."""
    case = exact(group_size, K, M=2)
    signs = case.x.sign()
    signs = torch.where(signs == 0, signs.flip(0), signs)
    x = signs * torch.tensor([[2.0**15], [2.0**-15]]).half()
    label = f"{case.label}, x of 2^15 and -2^15, and of 2^-15 and -2^-15"
    return replace(case, label=label, x=x, scales=case.scales * 2.0**-8)


def real_in_table(levels, tokens=2):
    """Some outputs of a real layer; each weight has the code of the nearest level in its group."""
    layer = real_layer("ffn_up")
    groups = layer.weight[:_N].double().unflatten(1, (-1, TILE))
    scales = (groups.abs().amax(-1) / levels.abs().max()).half().float()
    distances = (groups[..., None] / scales[..., None, None] - levels).abs()
    W_q = distances.argmin(-1).flatten(1).to(torch.uint8)
    label = f"real layer (ffn_up of MiniLM), groups of {TILE}, M = {tokens}, N = {_N}"
    x = layer.activations[:tokens]
    return GroupedCase(label, NBITS, TILE, W_q, scales, 0 * scales, x, is_exact=False)


def expected(case, value_of, offset=0):
    """The right y for codes with these values (int64 to float64), and a bound unless y is exact.

    offset: the number that an answer may leave on a value, and that the kernel subtracts later.
    """
    product = ScaledProduct(
        case.x, value_of(case.W_q.long()), case.scales.half(), case.zeros.half()
    )
    y = product.exact()
    if case.is_exact:
        return y.half(), None
    part = min(case.group_size, TILE)
    return y, parts_error_bound(product, torch.float16, part=part, offset=offset)


def run(name, answer, case, device):
    """y of the kernel with the answer to exercise `name` in its hole."""
    kernel = load(
        "gemv_a16wn_fast",
        case.nbits,
        group_size=case.group_size,
        replace={"dequant_pair": answer},
        time_limit=_TIME_LIMIT,
    )
    operands = case.x, *kernel.pack(case.W_q, case.scales, case.zeros)
    y = run_watched(kernel, operands, device, N=len(case.W_q))
    if y.isnan().any():
        raise CheckFailed(
            f"{name} is wrong on {case.label}: y has NaN, so a half that dequant_pair gave is NaN "
            "or infinity: all five bits of its exponent, 0x7C00, are 1"
        )
    return y
