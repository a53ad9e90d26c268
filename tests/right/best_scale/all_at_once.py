def best_scale(w, nbits, candidates):
    half = 2 ** (nbits - 1)
    scales = candidates.double()[:, None]
    marks = (w / scales).clamp(-half, half - 1).round() * scales
    return ((marks - w) ** 2).mean(dim=1).argmin()
