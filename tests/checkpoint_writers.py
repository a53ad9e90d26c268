"""GPTQ and AWQ tensors, written bit by bit from what the formats say, by this file alone."""

import torch

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def layer(nbits, N=64, K=192, group_size=64, smallest_zero=0, seed=0):
    """Random codes (N, K), zeros and scales (N, groups), as plain tensors."""
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randint(0, 2**nbits, (N, K), generator=generator)
    zeros = torch.randint(smallest_zero, 2**nbits, (N, K // group_size), generator=generator)
    scales = (torch.rand(N, K // group_size, generator=generator) + 0.1).half()
    return codes, zeros, scales


def int32(word):
    return word - 2**32 if word >= 2**31 else word


def words_of_a_string(codes, nbits):
    """Codes one after the other as bits, the lowest bit first, cut every 32 bits."""
    bits = [code >> bit & 1 for code in codes for bit in range(nbits)]
    assert len(bits) % 32 == 0
    strings = [bits[start : start + 32] for start in range(0, len(bits), 32)]
    return [int32(sum(bit << place for place, bit in enumerate(word))) for word in strings]


def gptq(codes, zeros, scales, nbits, minus_one=True):
    """qweight, qzeros, scales as a GPTQ checkpoint has them."""
    qweight = torch.tensor([words_of_a_string(row, nbits) for row in codes.tolist()])
    stored = (zeros - int(minus_one)).T.tolist()
    qzeros = torch.tensor([words_of_a_string(row, nbits) for row in stored])
    return qweight.T.int(), qzeros.int(), scales.T


def awq_words(matrix):
    """Rows of 4-bit codes, eight columns to a word: field i holds column AWQ_ORDER[i]."""
    return torch.tensor(
        [
            [
                int32(sum(row[start + AWQ_ORDER[i]] << 4 * i for i in range(8)))
                for start in range(0, len(row), 8)
            ]
            for row in matrix.tolist()
        ]
    ).int()


def awq(codes, zeros, scales):
    """qweight, qzeros, scales as an AWQ checkpoint has them."""
    return awq_words(codes.T), awq_words(zeros.T), scales.T
