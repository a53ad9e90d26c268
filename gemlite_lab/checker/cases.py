"""Inputs on which every wrong kernel fails.

They are exact: x are small integers, scales powers of two and zeros integers, so every partial sum
in fp32 is exact in any order, and a right kernel matches bit for bit. They are telling: every k
meets a non-zero x, scales and zeros change from row to row, zeros are not the middle code, every
code occurs, K is ragged and spans several tiles, and outputs stay below 2**11 quanta, so that fp16
hides no mistake.
"""

from dataclasses import dataclass, replace

import torch

from gemlite_edu.numbers.quantize import quantize_linear
from gemlite_lab.lesson.real_layer import real_layer

# Bfloat16 x times this, and scales through it, leave y alone, and no half can hold such an x.
BEYOND_HALF = 2.0**20
_MAX_QUANTA = 2**11
_LARGEST_HALF = torch.finfo(torch.float16).max
_MOST_SEEDS = 200  # to look for exact inputs
_ZEROS_OF_MANY = 13  # of `of_many_rows`: no power of two, so that zeros[n % 2048] is another one


@dataclass(frozen=True)
class GemvCase:
    """One low-bit GEMV: codes W_q (N, K), scales and zeros (N, 1) float32, x (M, K) 16-bit."""

    label: str
    nbits: int
    W_q: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    x: torch.Tensor
    is_exact: bool


@dataclass(frozen=True)
class PlainCase:
    """One GEMV with unquantized weights: W (N, K) and x (M, K) float16."""

    label: str
    W: torch.Tensor
    x: torch.Tensor
    is_exact: bool


@dataclass(frozen=True)
class CodesCase:
    """Codes W_q (N, K) to pack or to get back."""

    label: str
    nbits: int
    W_q: torch.Tensor


def fresh(make, seed):
    """[make(seed)], or make of the next seed that gives exact inputs; the label has the seed.

    In a product with codes, the last row has the highest code everywhere and the row before it has
    zeros, so that some words have only ones and some only zeros. Raises ValueError if none of many
    seeds gives exact inputs, as in a shape whose sums are too long.
    """
    for chosen in range(seed, seed + _MOST_SEEDS):
        try:
            case = make(chosen)
        except AssertionError as error:
            why = error
            continue
        if {"nbits", "x"} <= vars(case).keys():
            case.W_q[-2:-1], case.W_q[-1:] = 0, 2**case.nbits - 1
        return [replace(case, label=f"{case.label}, seed {chosen}")]
    raise ValueError(
        f"{_MOST_SEEDS} seeds from {seed} on give no case of this shape ({why}): take a shorter sum"
    )


def drawn(values, most, seed):
    """At most so many of the values, drawn by the seed."""
    order = torch.randperm(len(values), generator=torch.Generator().manual_seed(seed))
    return [values[place] for place in order[:most]]


def exact_gemv(nbits, N, K, seed):
    """A `GemvCase` with exact inputs. Raises AssertionError if a wrong kernel could pass it."""
    generator = torch.Generator().manual_seed(seed)
    W_q = _codes(nbits, N, K, generator)
    rows = torch.arange(N).reshape(N, 1)
    scales = 2.0 ** (rows * 3 % 8 - 6)
    zeros = (rows * 5 + 1) % 2**nbits
    M = 2 * nbits
    x = _every_k_once(M, K, 1 if nbits > 4 else 3, generator)
    label = f"{nbits}-bit, M = {M}, N = {N}, K = {K}"
    case = GemvCase(label, nbits, W_q, scales.float(), zeros.float(), x, True)
    quanta = x.double() @ (W_q.double() - case.zeros.double()).T
    assert quanta.abs().max() < _MAX_QUANTA, f"{case.label}: outputs are not exact in fp16"
    return case


def of_many_rows(nbits=4, N=2051, K=20, seed=5):
    """An `exact_gemv` with one row of x, and more rows of W than 64 blocks take.

    y is 65504, the largest fp16, or -65504 in every third row, and not far from it in the others.
    """
    case, n = exact_gemv(nbits, N, K, seed), torch.arange(N)
    case = replace(case, zeros=((5 * n + 1) % _ZEROS_OF_MANY).float()[:, None])
    x = case.x.float().sum(0, keepdim=True).half()
    quanta = (case.W_q.double() - case.zeros.double()) @ x[0].double()
    sizes = quanta.abs().clamp(min=1)
    powers = 2.0 ** (15 - sizes.log2().floor())
    scales = torch.stack([_LARGEST_HALF / sizes, powers, 0.75 * powers])
    scales = scales[n % 3, n]
    label = f"{nbits}-bit, M = 1, N = {N}, K = {K}"
    return replace(case, label=label, x=x, scales=scales.float()[:, None])


def of_many_tokens(nbits=4, N=3, K=20, seed=6):
    """An `exact_gemv` with more rows of x than two blocks take."""
    case = exact_gemv(nbits, N, K, seed)
    x = torch.cat([case.x, -case.x.flip(0), case.x[:1]])
    return replace(case, label=f"{nbits}-bit, M = {len(x)}, N = {N}, K = {K}", x=x)


def real_gemv(nbits=4, tokens=4):
    """A `GemvCase` of a real layer, quantized per channel, with its activations as bfloat16."""
    layer = real_layer("ffn_up")
    q = quantize_linear(layer.weight, nbits)
    x = layer.activations[:tokens].bfloat16() * BEYOND_HALF
    label = f"real layer (ffn_up of MiniLM), {nbits}-bit, M = {tokens}, bfloat16"
    return GemvCase(label, nbits, q.W_q, q.scales / BEYOND_HALF, q.zeros, x, False)


def real_gemv_in_table(nbits, values, tokens=4):
    """The same layer; each weight gets the code whose value, of 2**nbits, is nearest to it."""
    layer = real_layer("ffn_up")
    W = layer.weight.double()
    scales = (W.abs().amax(1, keepdim=True) / values.abs().max()).float()
    codes = (W[..., None] / scales[..., None] - values).abs().argmin(-1).to(torch.uint8)
    label = f"real layer (ffn_up of MiniLM), {nbits}-bit, M = {tokens}, bfloat16"
    x = layer.activations[:tokens].bfloat16() * BEYOND_HALF
    return GemvCase(label, nbits, codes, scales / BEYOND_HALF, torch.zeros_like(scales), x, False)


def exact_plain(N, K, seed):
    """A `PlainCase` with small-integer weights and activations."""
    generator = torch.Generator().manual_seed(seed)
    W = torch.randint(-9, 10, (N, K), generator=generator).half()
    x = _every_k_once(4, K, 3, generator)
    assert (x.double() @ W.double().T).abs().max() < _MAX_QUANTA
    return PlainCase(f"M = {len(x)}, N = {N}, K = {K}", W, x, True)


def real_plain(tokens=4):
    """A `PlainCase` of a real layer with its real activations."""
    layer = real_layer("ffn_up")
    label = f"real layer (ffn_up of MiniLM), M = {tokens}"
    return PlainCase(label, layer.weight, layer.activations[:tokens], False)


def codes(nbits, N, K, seed):
    """A `CodesCase` of random codes in which every code occurs if N * K is large enough."""
    generator = torch.Generator().manual_seed(seed)
    return CodesCase(f"{nbits}-bit, N = {N}, K = {K}", nbits, _codes(nbits, N, K, generator))


def real_codes(nbits=4):
    """A `CodesCase` of a real layer, quantized per channel."""
    W_q = quantize_linear(real_layer("attention_query").weight, nbits).W_q
    return CodesCase(f"real layer (attention_query of MiniLM), {nbits}-bit", nbits, W_q)


def _codes(nbits, N, K, generator):
    W_q = torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8, generator=generator)
    if N * K >= 2**nbits:
        position = torch.randperm(N * K, generator=generator)[: 2**nbits]
        W_q.view(-1)[position] = torch.arange(2**nbits, dtype=torch.uint8)
    return W_q


def _every_k_once(M, K, largest, generator):
    """x (M, K) of integers up to `largest`: each k is non-zero in exactly one row."""
    values = torch.randint(1, largest + 1, (K,), generator=generator)
    signs = torch.randint(0, 2, (K,), generator=generator) * 2 - 1
    x = torch.zeros(M, K)
    x[torch.randperm(K, generator=generator) % M, torch.arange(K)] = (values * signs).float()
    return x.half()
