import math


def best_scale(w, nbits, candidates):
    half = 2 ** (nbits - 1)
    best, least = None, math.inf
    for index, scale in enumerate(candidates.tolist()):
        error = 0.0
        for weight in w.tolist():
            code = math.floor(weight / scale + 0.5)
            code = min(max(code, -half), half - 1)
            error += (weight - code * scale) ** 2
        if error < least:
            best, least = index, error
    return best
