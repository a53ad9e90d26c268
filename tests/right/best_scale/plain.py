import torch


def best_scale(w, nbits, candidates):
    w = w.double()
    lowest, highest = -(2 ** (nbits - 1)), 2 ** (nbits - 1) - 1
    errors = []
    for scale in candidates:
        codes = (w / scale).round().clamp(lowest, highest)
        errors.append((w - codes * scale).square().sum())
    return int(torch.stack(errors).argmin())
