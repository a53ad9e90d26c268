"""What wrong answers to mixed_mm_transposed give that read the right bytes, scales and zeros."""

import torch

from gemlite_lab.checker.transposed_terms import with_operands


def _weights(weights_of):
    """The mistake of computing weights_of(Rows, codes, scales, zeros)."""
    return with_operands(lambda r: {"weights": weights_of(r, *r.right[1:])})


def _of_signed(weights_of, signed=True):
    """The same where codes are signed, or are not."""
    output = _weights(weights_of)
    return lambda case: output(case) if case.signed == signed else None


WEIGHT_MISTAKES = {
    "the codes of int8 bytes lose their sign: they are -8 to 7": _of_signed(
        lambda r, codes, scales, zeros: (codes % 16 - zeros) * scales
    ),
    "even k of int8 bytes lose their sign: & 15 leaves 0 to 15": _of_signed(
        lambda r, codes, scales, zeros: (
            (torch.where(r.k % 2 == 0, codes % 16, codes) - zeros) * scales
        )
    ),
    "codes of int8 bytes are 8 too high, as ^ 0x88 leaves them; so zeros have to grow by 8": (
        _of_signed(lambda r, codes, scales, zeros: (codes + 8 - zeros) * scales)
    ),
    "the codes of uint8 bytes are read as -8 to 7; only those of int8 are": _of_signed(
        lambda r, codes, scales, zeros: ((codes + 8) % 16 - 8 - zeros) * scales, signed=False
    ),
    "zeros are left out": _weights(lambda r, codes, scales, zeros: codes * scales),
    "zeros are added; a weight is (code - zero) * scale": _weights(
        lambda r, codes, scales, zeros: (codes + zeros) * scales
    ),
    "the zero is taken away after scaling; a weight is (code - zero) * scale": _weights(
        lambda r, codes, scales, zeros: codes * scales - zeros
    ),
    "the zero is taken from even k only": _weights(
        lambda r, codes, scales, zeros: torch.where(r.k % 2 == 0, codes - zeros, codes) * scales
    ),
    "every zero is taken to be 8": _of_signed(
        lambda r, codes, scales, zeros: (codes - 8) * scales, signed=False
    ),
    "scales are left out": _weights(lambda r, codes, scales, zeros: codes - zeros),
    "only even k are multiplied by their scales": _weights(
        lambda r, codes, scales, zeros: (codes - zeros) * torch.where(r.k % 2 == 0, scales, 1.0)
    ),
    "weights are divided by the scales": _weights(
        lambda r, codes, scales, zeros: (codes - zeros) / scales
    ),
    "scales and zeros are exchanged": _weights(
        lambda r, codes, scales, zeros: (codes - scales) * zeros
    ),
}
