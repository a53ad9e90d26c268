"""Products about which fragment_shape is asked, each (M, N, K, rows, columns)."""

import torch

PRODUCTS = (
    (70, 40, 96, 1, 3),
    (5, 40, 64, 1, 1),
    (40, 32, 32, 1, 1),
    (95, 177, 32, 3, 1),  # the shape with the least padding loads more
    (100, 7, 48, 2, 1),
    (20, 240, 16, 1, 1),  # two shapes load as much
    (240, 20, 16, 1, 1),
    (1024, 512, 2048, 2, 2),
)
EXTREME_PRODUCTS = (
    (1, 1, 16, 1, 1),
    (3, 33, 2**27 + 80, 3, 1),  # more than 2**31 bytes
    (4100, 24, 64, 1, 5),
    (40, 5000, 32, 6, 1),
    (1, 122, 704, 1, 3),  # few rows, where the shape with the least padding loads more
)
ONE_OTHER_ARGUMENT = (  # each differs from the first in one, which (but K) changes its best shape
    *((70, 48, 32, 1, 2), (5, 48, 32, 1, 2), (70, 17, 32, 1, 2)),
    *((70, 48, 32, 2, 2), (70, 48, 32, 1, 1), (70, 48, 48, 1, 2)),
)

# Chosen one by one, each against the most rules of thumb that were left: a shape for all products
# with rows == columns, say, or with N >= 64, and the right one for the others.
AGAINST_RULES_OF_THUMB = (
    *((256, 256, 16, 3, 3), (512, 32, 16, 4, 4), (64, 256, 16, 1, 1), (8, 512, 16, 2, 2)),
    *((256, 8, 16, 1, 1), (32, 8, 16, 2, 2), (512, 512, 16, 4, 1), (512, 512, 16, 1, 3)),
    *((8, 64, 16, 4, 4), (8, 32, 16, 1, 1), (64, 256, 16, 3, 3), (512, 192, 16, 2, 2)),
    *((512, 16, 16, 2, 1), (8, 8, 16, 1, 1), (256, 8, 16, 3, 3), (16, 512, 16, 1, 3)),
    *((512, 512, 16, 4, 4), (512, 64, 16, 1, 1), (32, 256, 16, 3, 2), (256, 32, 16, 2, 3)),
    *((8, 8, 16, 3, 3), (8, 8, 16, 1, 4), (512, 16, 16, 2, 2), (8, 1, 16, 4, 1)),
    *((16, 512, 16, 4, 4), (64, 8, 16, 4, 4), (128, 512, 16, 2, 2), (8, 512, 16, 1, 1)),
    *((16, 64, 16, 3, 1), (1, 8, 16, 2, 2), (8, 64, 16, 3, 3), (64, 16, 16, 1, 3)),
    *((512, 512, 16, 1, 1), (8, 64, 16, 1, 2), (512, 32, 16, 3, 3), (8, 8, 16, 4, 3)),
    *((64, 64, 16, 3, 3), (32, 256, 16, 3, 3), (16, 1, 16, 1, 1), (512, 128, 16, 3, 1)),
)
ASKED_TOGETHER = 8  # products in one case
_SIZES = (1, 8, 9, 16, 17, 24, 32, 40, 48, 64, 96, 100, 112, 128, 160, 192, 256, 300, 512)


def drawn_products(generator):
    """Products of usual sizes, half of them with as many rows as columns."""
    found = []
    for i in range(ASKED_TOGETHER):
        M, N = (_SIZES[j] for j in torch.randint(len(_SIZES), (2,), generator=generator).tolist())
        rows, columns = torch.randint(1, 5, (2,), generator=generator).tolist()
        found.append((M, N, 16, rows, columns if i % 2 else rows))
    return tuple(found)
