import torch

NAMES = ["8x32x16", "16x16x16", "32x8x16"]
TOKENS, OUTPUTS = torch.tensor([8, 16, 32]), torch.tensor([32, 16, 8])


def fragment_shape(M, N, K, rows, columns):
    tile = torch.stack([TOKENS * rows, OUTPUTS * columns])
    tiles = torch.ceil(torch.tensor([[M], [N]]) / tile).long()
    loads = tiles.prod(0) * tile * K
    padding = ((tiles * tile).prod(0) - M * N) * K
    total = loads.sum(0)
    best = int((total * 10**6 + padding * (total == total.min())).argmin())
    costs = {name: (*loads[:, i].tolist(), padding[i]) for i, name in enumerate(NAMES)}
    return NAMES[best], costs
