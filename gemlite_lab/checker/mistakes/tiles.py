"""Mistakes in unpack_tile: the fields of a word of the Triton layout."""

import torch

from gemlite_lab.checker.mistakes import fields
from gemlite_lab.checker.mistakes.model import Mistake, Model


def _parts_of(case):
    layout = case.layout
    words = _unsigned(case.words, case.word_bits)
    high = None if case.high is None else _unsigned(case.high, case.word_bits // 2)
    return {
        **fields.right_parts(layout.low_bits * torch.arange(layout.fields), layout.low_bits),
        "words": words,
        "high": torch.zeros_like(words) if high is None else high,
        "low_bits": layout.low_bits,
        "has_high": high is not None,
        "K": case.W_q.shape[1],
    }


def _unsigned(words, bits):
    return (words.long() & (1 << bits) - 1).transpose(0, 1)[:, :, None]


def _output(parts):
    codes = fields.codes(parts["words"], parts)
    if parts["has_high"]:
        of_high = {"shift": torch.arange(len(parts["shift"])), "mask": 1}
        codes = codes | fields.codes(parts["high"], parts | of_high) << 2
    return codes.flatten(1)[:, : parts["K"]].float().double()


def _mistakes_of(case):
    layout = case.layout
    if case.high is not None:
        return []
    shift = layout.low_bits * torch.arange(layout.fields)
    half = 1 << layout.low_bits - 1
    signed = [_signed_remainders(layout.low_bits)] if case.word_bits == 32 else []
    return [
        *signed,
        *fields.field_mistakes(shift, layout.low_bits, "NBITS", top_first=False),
        Mistake(
            "the middle code is subtracted; zero-points come later, they are not yours",
            {"sign": lambda codes: codes - half},
        ),
        Mistake(
            "nothing is taken out of the words: each code is the whole word",
            {"moved": lambda words, shift: words + 0 * shift, "mask": fields.ALL_BITS},
        ),
        Mistake("the codes are one too large", {"sign": lambda codes: codes + 1}),
        Mistake("the codes are one too small", {"sign": lambda codes: codes - 1}),
    ]


def _signed_remainders(nbits):
    """A remainder of the signed word, which has the sign of the word."""

    def moved(words, shift):
        return torch.fmod(fields.signed(words) >> shift, 2**nbits)

    says = "% takes the remainder of a signed word, which is negative where the word is: take &"
    return Mistake(says, {"moved": moved, "mask": -1})


UNPACK_TILE = Model(_parts_of, _mistakes_of, _output, ("words", "high"), axis=0)
