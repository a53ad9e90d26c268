"""Mistakes in four_codes: the shift, the mask, and the bytes of a word of 16 codes."""

from functools import partial
from itertools import permutations

import torch

from gemlite_lab.checker.mistakes import fields
from gemlite_lab.checker.mistakes.model import Mistake, Model, without_twins
from gemlite_lab.checker.ternary_cases import GEMM

_CODES = torch.arange(16)


def _parts_of(case):
    codes = torch.nn.functional.pad(case.W_q.long(), (0, -case.K % 16))
    codes = codes.view(len(codes), -1, 16)
    words = (codes << 8 * (_CODES % 4) + 2 * (_CODES // 4)).sum(2)
    return {
        "words": words[..., None],
        "x": torch.nn.functional.pad(case.x.double(), (0, -case.K % 16)),
        "shift": 2 * torch.arange(4),
        "moved": lambda words, shift: words >> shift,
        "mask": 0x03030303,
        "bytes": [0, 1, 2, 3],
        "order": [0, 1, 2, 3],
        "changed": lambda four: four,
        "is_gemm": case.kernel == GEMM,
    }


def _output(parts):
    moved = parts["moved"](parts["words"], parts["shift"])
    four = parts["changed"](moved & parts["mask"]) & fields.ALL_BITS
    if parts["is_gemm"]:  # as four_weights does
        four = (four + 0x7E7E7E7E & fields.ALL_BITS) ^ 0x80808080
    bytes_ = (four[..., parts["order"], None] >> 8 * torch.tensor(parts["bytes"])) & 255
    weights = bytes_ - 256 * (bytes_ >> 7) - (0 if parts["is_gemm"] else 2)
    return parts["x"] @ weights.flatten(1).double().T


def _mistakes_of(case):
    i = torch.arange(4)
    masks = {
        "the shifted word is not masked, so that other codes stay above": fields.ALL_BITS,
        "the mask is 0x3, or the result has only 8 bits: three of the four codes are lost": 3,
        "the mask is 0x0303, or the result has only 16 bits: two codes are lost": 0x0303,
        "the mask is 0x030303: the fourth code is lost": 0x030303,
        "the mask is 0x03000000: only the fourth code is left": 0x03000000,
        "the mask is 0x01010101, one bit of each code": 0x01010101,
        "the mask is 0x02020202, the upper bit of each code": 0x02020202,
        "the mask is 0x07070707, one bit too long": 0x07070707,
        "the mask is 0x0F0F0F0F, two codes in each byte": 0x0F0F0F0F,
        "the mask is 0x33333333, two codes in each byte": 0x33333333,
        "the mask is 0x30303030, bits 4 and 5 of each byte": 0x30303030,
        "the mask is 0xC0C0C0C0, the highest bits of each byte": 0xC0C0C0C0,
        "the mask is 0x3F030303, four bits too many: other codes stay above the fourth": 0x3F030303,
        "the mask is 0x000F000F": 0x000F000F,
        "the mask is 0x00030003: two of the four codes are lost": 0x00030003,
        "the mask is shifted to the right by i, as well as the word": 0x03030303 >> i,
        "the mask is 0xFF: only the lowest byte is left": 0xFF,
        "the mask is 0x33: two codes of the lowest byte are left": 0x33,
        "the mask is 03030303 without 0x, an octal number": 0o3030303,
        "the mask is 3030303 without 0x, a decimal number": 3030303,
    }
    shifts = {
        "the shift is i; fields are 2 bits wide, so it is 2 * i": i,
        "the shift is 4 * i; fields are 2 bits wide, so it is 2 * i": 4 * i,
        "the shift is 8 * i, a whole byte": 8 * i,
        "the shift is 6 - 2 * i: codes 12 to 15 are in the highest bits of each byte": 6 - 2 * i,
        "the shift is 2 * (i + 1), one field too far": 2 * (i + 1),
        "the shift is 24 - 8 * i, a whole byte": 24 - 8 * i,
        "the shift is 30 - 2 * i, counted from the highest bits": 30 - 2 * i,
        "the shift is i * i; fields are 2 bits wide, so it is 2 * i": i * i,
        "the word is not shifted: every i gives codes 0 to 3": 0 * i,
    }
    bytes_ = {
        "the first of the four codes is put in the highest byte": [3, 2, 1, 0],
        "the codes of each pair of bytes are swapped": [1, 0, 3, 2],
        "the two halves of the four bytes are swapped": [2, 3, 0, 1],
        "the four bytes have the codes of the lowest one": [0, 0, 0, 0],
    }
    orders = {
        "i and i + 1 are swapped, for even i": [1, 0, 3, 2],
        "i = 1 and i = 2 are swapped": [0, 2, 1, 3],
    }
    changed = {
        "2 is taken from each code, which four_weights and the GEMV do": _less_two,
        "2 is taken from all codes at once, which borrows from the next byte":
            lambda four: four - 0x02020202,
        "1 is taken from all codes": lambda four: four - 0x01010101,
        "1 is added to each code": lambda four: four + 0x01010101,
        "the codes stay where they were in their bytes: nothing shifts them down":
            lambda four: four << 2 * i,
        **{
            f"code {code} becomes {other}": partial(_with_code, code=code, other=other)
            for code, other in permutations(range(4), 2)
        },
    }  # fmt: skip
    parts = {
        "mask": masks, "shift": shifts, "bytes": bytes_, "order": orders, "changed": changed,
    }  # fmt: skip
    return without_twins(
        [
            Mistake(
                "parentheses are wrong: the mask meets 2 * i, not the shifted word",
                {"shift": 2 * i & 3, "mask": fields.ALL_BITS},
            ),
            Mistake(
                "% takes the place of &: it gives a remainder",
                {"mask": fields.ALL_BITS, "changed": lambda four: four % 0x03030303},
            ),
            *fields.divided_words(),
            *(
                Mistake(words, {name: value})
                for name, wrong in parts.items()
                for words, value in wrong.items()
            ),
        ]
    )


def _with_code(four, code, other):
    """Four bytes in which `other` stands for this code."""
    bytes_ = [four >> 8 * b & 255 for b in range(4)]
    return sum(torch.where(byte == code, other, byte) << 8 * b for b, byte in enumerate(bytes_))


def _less_two(four):
    bytes_ = [((four >> 8 * b) - 2 & 255) << 8 * b for b in range(4)]
    return sum(bytes_)


FOUR_CODES = Model(_parts_of, _mistakes_of, _output, ("words",))
