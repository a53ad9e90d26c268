"""What wrong answers to scaled_dot give: {mistake in words: case -> output}."""

from collections.abc import Callable

import torch

from gemlite_lab.checker.grouped_words import WARP_SIZE, Words


def _with_groups(groups_of: Callable):
    """A mistake in the group of each code."""

    def output(w):
        groups = groups_of(w)
        return w.output((w.codes - w.zeros(groups)) * w.scales(groups))

    return output


def _with_weights(weights_of: Callable):
    """A mistake in what a code, a zero-point and a scale make: weights_of(q, z, s)."""
    return lambda w: w.output(weights_of(w.codes, w.zeros(), w.scales()))


def _by_case(mistakes):
    return {name: lambda case, of=of: of(Words.of(case)) for name, of in mistakes.items()}


_GROUPS = {
    "every code of a word takes the group of its first one": lambda w: w.in_groups(w.first_k),
    "code j is taken to be W_q[n, k + j]; it is W_q[n, k + j * WARP_SIZE]": (
        lambda w: w.in_groups(w.first_k + w.j)
    ),
    "code j is taken to be W_q[n, k + j * PACK_FACTOR]; it is W_q[n, k + j * WARP_SIZE]": (
        lambda w: w.in_groups(w.first_k + w.j * w.pack_factor)
    ),
    "the group is the remainder of k by GROUP_SIZE, not the quotient": (
        lambda w: w.k % w.case.group_size
    ),
    "every lane takes the group of lane 0, which is right only where 32 divides GROUP_SIZE": (
        lambda w: w.in_groups(w.k - w.lane)
    ),
    "a tile is taken to be a whole number of groups, TILE / GROUP_SIZE": (
        lambda w: (
            w.tile * (w.tile_size // w.case.group_size) + w.in_groups(w.j * WARP_SIZE + w.lane)
        )
    ),
    "the group is the number of the tile": lambda w: w.tile,
    "k is left out of the group, so that every tile begins again with group 0": (
        lambda w: w.in_groups(w.j * WARP_SIZE)
    ),
    "the number of the word in its row is divided by GROUP_SIZE, which counts codes": (
        lambda w: w.in_groups(w.tile * WARP_SIZE + w.lane)
    ),
}

_MORE_GROUPS = {
    "group 0 is taken for all codes": lambda w: 0 * w.k,
    "the codes of a word are taken to be neighbours in k, so that a word has one group": (
        lambda w: w.in_groups((w.tile * WARP_SIZE + w.lane) * w.pack_factor)
    ),
}

_WEIGHTS = {
    "the scale is left out": lambda q, z, s: q - z,
    "the zero-point is left out": lambda q, z, s: q * s,
    "the zero-point is added instead of subtracted": lambda q, z, s: (q + z) * s,
    "the scale divides; here it multiplies": lambda q, z, s: (q - z) / s,
}


def _scaled_by_the_first(w):
    first = w.in_groups(w.first_k)
    return w.output((w.codes - w.zeros()) * w.scales(first))


def _zero_of_group_0(w):
    return w.output((w.codes - w.zeros(0 * w.k)) * w.scales())


def _scale_of_group_0(w):
    return w.output((w.codes - w.zeros()) * w.scales(0 * w.k))


def _zeros_met_by_ones(meet_of):
    """The zeros of the codes j in meet_of(w) are subtracted as they are; no x meets them."""

    def output(w):
        subtracted = (w.zeros() * w.scales() * meet_of(w)).sum((1, 2, 3))
        return (w.x.flatten(1) @ (w.codes * w.scales()).flatten(1).T - subtracted).half()

    return output


_zero_once_a_call = _zeros_met_by_ones(lambda w: w.j % w.codes_per_group == 0)
_zero_from_each_product = _zeros_met_by_ones(lambda w: w.j >= 0)


def _only(keep_of):
    """Only the codes j in keep_of(w) are used."""

    def output(w):
        keep = keep_of(w)
        return w.output((w.codes - w.zeros()) * w.scales() * keep.view(1, 1, -1, 1))

    return output


def _with_places(code_of, x_of):
    """In the place of code j code_of(w, j) is read, and its x is that of x_of(w, j)."""

    def output(w):
        j = w.j.flatten()
        codes, x = w.codes[:, :, code_of(w, j)], w.x[:, :, x_of(w, j)]
        return w.output((codes - w.zeros()) * w.scales(), x)

    return output


def _in_call(w, j):
    return j % w.codes_per_group


def _call_plus_place(w, j):
    return j // w.codes_per_group + _in_call(w, j)


def _truncated_sum(w):
    """The sum is an int: what each call adds is cut off."""
    terms = w.x[:, None] * ((w.codes - w.zeros()) * w.scales())
    M, N, T, P, lanes = terms.shape
    calls = terms.reshape(M, N, T, P // w.codes_per_group, w.codes_per_group, lanes).sum(4)
    total = torch.zeros(M, N, T, lanes, dtype=torch.float64)
    for call in calls.unbind(3):
        total = torch.trunc(total + call)
    return total.sum((2, 3)).half()


def of_scaled_dot():
    """{mistake: case -> output} for who writes scaled_dot."""
    return _by_case(
        {
            **{name: _with_groups(groups) for name, groups in {**_GROUPS, **_MORE_GROUPS}.items()},
            **{name: _with_weights(weights) for name, weights in _WEIGHTS.items()},
            "the zero-point is subtracted after the scale": _with_weights(
                lambda q, z, s: q * s - z
            ),
            "the scale and the zero-point are exchanged": _with_weights(
                lambda q, z, s: (q - s) * z
            ),
            "the zero-point is subtracted once per call of dequant_dot, not once per code": (
                _zero_once_a_call
            ),
            "the zero-point is that of group 0": _zero_of_group_0,
            "the scale is that of group 0": _scale_of_group_0,
            "all codes of a word are scaled by the scale of the first": _scaled_by_the_first,
            "each call of dequant_dot gets the whole word, and so its first codes": _with_places(
                _in_call, lambda w, j: j
            ),
            "each call of dequant_dot gets the x of the word's first code": _with_places(
                lambda w, j: j, _in_call
            ),
            "from_code is given the number of the group in the word, not that of its first code": (
                _with_places(_call_plus_place, lambda w, j: j)
            ),
            "only the first group of each word is used": _only(
                lambda w: w.j.flatten() < w.codes_per_group
            ),
            "only the last group of each word is used, because the sum is assigned, not added": (
                _only(lambda w: w.j.flatten() >= w.pack_factor - w.codes_per_group)
            ),
            "only eight codes of each word are used, whatever PACK_FACTOR is": _only(
                lambda w: w.j.flatten() < 8
            ),
            "the sum is held in an integer, which cuts off the fraction": _truncated_sum,
        }
    )


def of_zero_after_scale():
    """{mistake: case -> output} for who repairs where the zero-point is subtracted."""
    repairs = {
        **_WEIGHTS,
        "the scale multiplies the zero-point only, because * comes before -": (
            lambda q, z, s: q - z * s
        ),
        "the zero-point is subtracted from the scale": lambda q, z, s: q * (s - z),
        "the code is scaled twice and the zero-point once": lambda q, z, s: (q * s - z) * s,
        "the zero-point is divided by the scale": lambda q, z, s: q * s - z / s,
        "the weight is held in an integer, which cuts off the fraction": (
            lambda q, z, s: torch.trunc((q - z) * s)
        ),
    }
    return _by_case(
        {
            **{name: _with_weights(weights) for name, weights in repairs.items()},
            "the zero-point is subtracted from the product with x instead of from the code": (
                _zero_from_each_product
            ),
        }
    )


def of_group_from_word():
    """{mistake: case -> output} for who repairs where the group comes from."""
    return _by_case(
        {
            **{name: _with_groups(groups) for name, groups in _GROUPS.items()},
            "k is multiplied by PACK_FACTOR, but it counts codes and not words": _with_groups(
                lambda w: w.in_groups(w.first_k * w.pack_factor)
            ),
        }
    )
