"""What wrong answers to four_codes give: {mistake in words: case -> output}."""

import torch

from gemlite_lab.checker.ternary_cases import GEMM

_WORD = 0xFFFFFFFF
_LOW_TWO = 0x03030303
_BYTES = 8 * torch.arange(4)
_PLACES = torch.tensor([8 * (e % 4) + 2 * (e // 4) for e in range(16)])


def _words(case):
    """The words of the codes as whole numbers, (N, K / 16); those of a row in order."""
    return (case.W_q.long().unflatten(1, (-1, 16)) << _PLACES).sum(-1)


def _signed_bytes(words):
    """(N, K / 16, 4) words to (N, K) signed bytes, the lowest of each word first."""
    return ((words.unsqueeze(-1) >> _BYTES) + 128 & 0xFF).sub(128).flatten(1)


def _output(case, four_codes):
    """y of the kernel whose four_codes(words, i) is this one, with its own arithmetic on it."""
    words = _words(case)
    four = torch.stack([four_codes(words, i) & _WORD for i in range(4)], -1)
    if case.kernel == GEMM:
        weights = _signed_bytes((four + 0x7E7E7E7E) ^ 0x80808080)
    else:
        weights = _signed_bytes(four) - 2
    return case.x.long() @ weights.T


def _put(code_of):
    """The four codes code_of(words, i, j), j from 0 to 3, one in each byte."""
    return lambda words, i: sum((code_of(words, i, j) & 3) << 8 * j for j in range(4))


def _code(words, e):
    return words >> _PLACES[e]


def _down(distance, mask=_LOW_TWO):
    """The word shifted by distance(i), and a mask."""
    return lambda words, i: words >> distance(i) & mask


_MODELS = {
    # which bits
    "the shift is i; fields are 2 bits wide, so it is 2 * i": _down(lambda i: i),
    "the shift is 4 * i; fields are 2 bits wide, so it is 2 * i": _down(lambda i: 4 * i),
    "the shift is 8 * i, a whole byte": _down(lambda i: 8 * i),
    "the word is not shifted: every i gives codes 0 to 3": _down(lambda i: 0),
    "the shift is 6 - 2 * i: codes 12 to 15 are in the highest bits of each byte": _down(
        lambda i: 6 - 2 * i
    ),
    "the word is shifted to the left": lambda words, i: words << 2 * i & _LOW_TWO,
    "the mask comes before the shift": lambda words, i: (words & _LOW_TWO) >> 2 * i,
    "the codes stay where they were in their bytes: nothing shifts them down": (
        lambda words, i: words & _LOW_TWO << 2 * i
    ),
    # which mask
    "the shifted word is not masked, so that other codes stay above": _down(
        lambda i: 2 * i, mask=_WORD
    ),
    "the mask is 0x3: only the first of the four codes is left": _down(lambda i: 2 * i, mask=0x3),
    "the mask is 0x0303: the codes of the upper two bytes are lost": _down(
        lambda i: 2 * i, mask=0x0303
    ),
    "the mask is 0x0F0F0F0F, two codes in each byte": _down(lambda i: 2 * i, mask=0x0F0F0F0F),
    "the mask is 0x01010101, one bit of each code": _down(lambda i: 2 * i, mask=0x01010101),
    "the mask is 0x02020202, the upper bit of each code": _down(lambda i: 2 * i, mask=0x02020202),
    "the mask is 0x33333333, two codes in each byte": _down(lambda i: 2 * i, mask=0x33333333),
    "the mask is 0x30303030, bits 4 and 5 of each byte": _down(lambda i: 2 * i, mask=0x30303030),
    "the mask is 03030303 without 0x, an octal number": _down(lambda i: 2 * i, mask=0o3030303),
    "&& takes the place of &: it gives 1 or 0": lambda words, i: (words >> 2 * i != 0).long(),
    # which codes
    "codes are taken byte by byte: those of byte i are i, i + 4, i + 8 and i + 12": _put(
        lambda words, i, j: words >> 8 * i + 2 * j
    ),
    "code e is taken at bit 30 - 2 e, as if the first code were in the highest bits": _put(
        lambda words, i, j: words >> 30 - 2 * (4 * i + j)
    ),
    "codes i to i + 3 are given; it is 4 i to 4 i + 3": _put(
        lambda words, i, j: _code(words, i + j)
    ),
    "all four bytes are code 4 i": _put(lambda words, i, j: _code(words, 4 * i)),
    "the fourth code is left out": lambda words, i: words >> 2 * i & 0x00030303,
    # where they are put
    "the first of the four codes is put in the highest byte": _put(
        lambda words, i, j: _code(words, 4 * i + 3 - j)
    ),
    "the codes are put in 2 bits each; they go into 8": (
        lambda words, i: sum((_code(words, 4 * i + j) & 3) << 2 * j for j in range(4))
    ),
    "the codes are put in 4 bits each; they go into 8": (
        lambda words, i: sum((_code(words, 4 * i + j) & 3) << 4 * j for j in range(4))
    ),
    "the codes are all put in the lowest byte": (
        lambda words, i: (
            _code(words, 4 * i) & 3
            | _code(words, 4 * i + 1) & 3
            | _code(words, 4 * i + 2) & 3
            | _code(words, 4 * i + 3) & 3
        )
    ),
    # what is made of them
    "2 is taken from each code, which four_weights and the GEMV do": (
        lambda words, i: sum(((_code(words, 4 * i + j) & 3) - 2 & 0xFF) << 8 * j for j in range(4))
    ),
    "2 is taken from all codes at once, which borrows from the next byte": (
        lambda words, i: (words >> 2 * i & _LOW_TWO) - 0x02020202
    ),
}

MISTAKES = {name: lambda case, model=model: _output(case, model) for name, model in _MODELS.items()}
