import math


def best_scale(w, nbits, candidates):
    half = 2 ** (nbits - 1)

    def error(scale):
        codes = (min(max(round(weight / scale), -half), half - 1) for weight in weights)
        return math.fsum((w - code * scale) ** 2 for w, code in zip(weights, codes, strict=True))

    weights = w.tolist()
    errors = [error(scale) for scale in candidates.tolist()]
    return errors.index(min(errors))
