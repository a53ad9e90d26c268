"""Made weights: codes drawn layer by layer on the device, the same for every contender."""

import math
import zlib
from dataclasses import replace

import torch

from gemlite_edu.numbers.coded_weight import CodedWeight, row_blocks
from gemlite_edu.numbers.formats import INT4

GROUP_SIZE = 128
FORMAT = replace(INT4, group_size=GROUP_SIZE)
_MIDDLE, _SPREAD = 8, 2.5  # of the codes, which are normal numbers rounded


def made_weight(name, N, K, device):
    """A `CodedWeight` (N, K) of 4 bits in groups of 128, always the same for a name and a device.

    Its numbers have a mean of 0 and a standard deviation of about 1 / sqrt(K). Every zero is 8, so
    that kernels without zeros take the codes too; every scale is a bfloat16 number, so that fp16
    holds the product of a code and a scale exactly.
    """
    generator = generator_of(name, device)
    codes = torch.empty(N, K, dtype=torch.uint8, device=device)
    for rows in row_blocks(N, K):
        drawn = torch.randn(codes[rows].shape, generator=generator, device=device)
        codes[rows] = (drawn * _SPREAD + _MIDDLE).round_().clamp_(0, 15).to(torch.uint8)
    factors = torch.rand(N, K // GROUP_SIZE, generator=generator, device=device) + 0.5
    scales = (factors / (_SPREAD * math.sqrt(K))).bfloat16().half()
    return CodedWeight(FORMAT, codes, scales, torch.full_like(scales, _MIDDLE).float())


def made_embedding(vocab, hidden, device):
    """Normal numbers (vocab, hidden) that both 16-bit types hold exactly, in fp16."""
    generator = generator_of("embedding", device)
    return torch.randn(vocab, hidden, generator=generator, device=device).bfloat16().half()


def made_tokens(batch, count, vocab, device):
    """Random tokens (batch, count), int64."""
    generator = generator_of(f"tokens {batch} {count}", device)
    return torch.randint(vocab, (batch, count), generator=generator, device=device)


def generator_of(name, device):
    """A generator whose numbers depend on the name alone."""
    return torch.Generator(device).manual_seed(zlib.crc32(name.encode()))
