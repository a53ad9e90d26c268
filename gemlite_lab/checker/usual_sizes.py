"""`usual_sizes`: the sizes of layers, which an answer may treat apart from others."""

import torch

_K, _N = range(6, 15), range(6, 13)  # exponents of two
_BOTH = 16  # the exponent of N * K where both are usual
_FEWEST, _MOST = 1, 4


def usual_sizes(seed):
    """[(N, K)]: each usual K with few rows, each usual N with short rows, and one drawn N and K."""
    generator = torch.Generator().manual_seed(seed)
    few = int(torch.randint(_FEWEST, _MOST, (), generator=generator))
    both = int(torch.randint(min(_K), _BOTH - min(_N), (), generator=generator))
    broad = [(few, 2**exponent) for exponent in _K]
    tall = [(2**exponent, few) for exponent in _N]
    return [*broad, *tall, (2 ** (_BOTH - both), 2**both)]
