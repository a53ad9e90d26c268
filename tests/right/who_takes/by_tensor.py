import torch


def who_takes(tile, step, blocks, warps, steps):
    own = torch.arange(tile // blocks * steps + step + 1)
    rounds = torch.nn.functional.pad(own, (0, -len(own) % warps), value=-1).view(-1, warps)
    turn, warp = (rounds == own[-1]).nonzero()[0]
    return torch.stack([torch.tensor(tile % blocks), warp, turn])
