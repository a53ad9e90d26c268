import torch


def best_scale(w, nbits, candidates):
    codes = torch.arange(-(2 ** (nbits - 1)), 2 ** (nbits - 1), dtype=torch.float64)

    def error(index):
        marks = codes * candidates[index]
        above = torch.searchsorted(marks, w.double()).clamp(1, len(marks) - 1)
        off = torch.minimum((w - marks[above - 1]).abs(), (w - marks[above]).abs())
        return (off @ off).item()

    return min(range(len(candidates)), key=error)
