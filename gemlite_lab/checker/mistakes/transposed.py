"""Mistakes in mixed_mm_transposed: y = x W, a sum over the rows n of W, for each k."""

import torch

from gemlite_lab.checker.mistakes import dense, products, small_types
from gemlite_lab.checker.mistakes.model import Mistake, Model


def _parts_of(case):
    N, K = case.N, case.K
    group = torch.arange(K) // case.group_size
    return {
        **products.right_parts(torch.ones(N, 1).double()),
        "value": _right_value,
        "even_value": None,
        "odd_value": None,
        "even_counted": torch.ones(N, 1).double(),
        "odd_counted": torch.ones(N, 1).double(),
        "codes": case.codes,
        "x_given": case.x.double(),
        "scales": case.scales.double(),
        "zeros": case.zeros.double(),
        "x_at": torch.arange(N),
        "rows_at": torch.arange(N),
        "scale_rows": torch.arange(N),
        "zero_rows": torch.arange(N),
        "codes_at": torch.arange(K),
        "k": torch.arange(K),
        "scale_group": group,
        "zero_group": group,
    }


def _right_value(code, zero, scale):
    return (code - zero) * scale


def _output(parts):
    k = parts["k"]
    codes = parts["codes"][parts["rows_at"]][:, parts["codes_at"][k]]
    zeros = parts["zero"](parts["zeros"][parts["zero_group"][k]][:, parts["zero_rows"]].T)
    scales = parts["scales"][parts["scale_group"][k]][:, parts["scale_rows"]].T
    even, odd = (
        (parts[f"{parity}_value"] or parts["value"])(codes, zeros, scales)
        * parts[f"{parity}_counted"]
        for parity in ("even", "odd")
    )
    weights = torch.where(k % 2 == 0, even, odd) * parts["counted"]
    x = parts["x"](parts["x_given"][:, parts["x_at"]])
    return (x @ weights).half().double()


def _mistakes_of(case):
    N, K, size, block_n, block_k, chunks = (
        case.N, case.K, case.group_size, case.config["BLOCK_N"], case.config["BLOCK_K"],
        case.config["chunks"],
    )  # fmt: skip
    n, k = torch.arange(N), torch.arange(K)
    tile, program = n // block_n, k // block_k
    of_chunk = _ceil_div(_ceil_div(N, block_n), chunks)
    in_tile, in_program = n % block_n, k % block_k
    right, last = k // size, len(case.scales) - 1
    groups = {
        "a program is taken to be a group": program,
        "the group is counted in bytes": program * block_k // 2 // size,
        "the group is the remainder of k by GROUP, not the quotient": k % size,
        "1 is added to the group, to that of the last k too": right + 1,
        **products.shifted_groups(right, right.max()),
    }
    in_k = {
        "even and odd k are exchanged": k ^ 1,
        "odd k get the codes of even k": k // 2 * 2,
        "even k get the codes of odd k": k // 2 * 2 + 1,
        "every program reads the first bytes of its rows": in_program,
        "every program reads the bytes of the next one": (k + block_k) % K,
        "a program has its even k first, and then its odd ones":
            program * block_k + in_program % (block_k // 2) * 2 + in_program // (block_k // 2),
        "each byte is taken twice, as byte k // 2 of neighbouring k":
            program * block_k + in_program // 2,
    }  # fmt: skip
    in_n = {
        "every tile begins at row 0: tile * BLOCK_N is missing": in_tile,
        "tiles are counted from the beginning of the chunk, not of W":
            tile % of_chunk * block_n + in_tile,
        "each row takes those of the row before": (n - 1).clamp(min=0),
        "each row takes those of the row behind": (n + 1).clamp(max=N - 1),
        "all rows take those of row 0": 0 * n,
        "a tile takes those of its first row for all rows": tile * block_n,
        "all tiles of a chunk take those of its first tile, as if they were loaded above the loop":
            tile // of_chunk * of_chunk * block_n + in_tile,
    }  # fmt: skip
    counted = torch.ones(N, 1).double()
    return [
        *products.group_mistakes(dense.existing(groups, right, last)),
        *dense.too_few_groups(right),
        *_value_mistakes(case.signed),
        *([] if case.signed else [products.skipped_zeros()]),
        *products.x_mistakes(),
        *small_types.bfloat16_numbers(),
        *(Mistake(words, {"codes_at": at}) for words, at in in_k.items()),
        *(
            Mistake(f"{words} (for {what})", {name: at for name in names})
            for words, at in in_n.items()
            for what, names in _OF_ROWS.items()
        ),
        *_tile_mistakes(counted, tile[:, None], N // block_n, of_chunk),
    ]


_OF_ROWS = {
    "x": ("x_at",),
    "the bytes": ("rows_at",),
    "scales and zeros": ("scale_rows", "zero_rows"),
    "scales": ("scale_rows",),
    "zeros": ("zero_rows",),
    "bytes, scales and zeros": ("rows_at", "scale_rows", "zero_rows"),
}


def _value_mistakes(signed):
    """Mistakes in the formula of a weight, for all k, for even ones, or for odd ones."""
    of_all = [
        *products.scale_mistakes(),
        *products.then_scaled(products.value_mistakes(8)),
        *_code_mistakes(signed),
        Mistake("the sums are left out", {"value": lambda code, zero, scale: 0 * code}),
    ]
    return [
        *of_all[:-1],
        *(
            Mistake(f"{mistake.words} (for {parity} k alone)", {f"{parity}_value": value}, True)
            for mistake in of_all
            for value in [mistake.parts.get("value")]
            if value
            for parity in ("even", "odd")
        ),
    ]


def _ceil_div(a, b):
    return -(-a // b)


def _code_mistakes(signed):
    codes = {
        "the codes are 8 too high": lambda c: c + 8,
        "the codes are 8 too low": lambda c: c - 8,
        "the mask is 7, so that the highest bit of each code is lost": lambda c: c % 8,
    }
    if signed:
        codes["the codes of int8 bytes lose their sign: they are -8 to 7"] = lambda c: c % 16
    else:
        codes["the codes of uint8 bytes are read as -8 to 7; only those of int8 are"] = lambda c: (
            c - 16 * (c >= 8)
        )
    return [
        Mistake(words, {"value": lambda c, z, s, how=how: (how(c) - z) * s})
        for words, how in codes.items()
    ]


def _tile_mistakes(counted, tile, whole_tiles, of_chunk):
    chunk, last = tile // of_chunk, tile.max()
    counts = {
        "the rows of the last tile are left out if they do not fill it": tile < whole_tiles,
        "only the first tile is used": tile == 0,
        "only the last tile is used": tile == last,
        "the first tile of each chunk is left out": tile % of_chunk > 0,
        "the last tile of each chunk is left out": (tile % of_chunk < of_chunk - 1) & (tile < last),
        "only the last tile of each chunk counts: sums are assigned, not added to":
            (tile % of_chunk == of_chunk - 1) | (tile == last),
        "only the first tile of each chunk counts": tile % of_chunk == 0,
        "each chunk adds up one tile more, which is the first of the next one":
            1 + ((tile % of_chunk == 0) & (tile > 0)).double(),
        "only chunk 0 is used": chunk == 0,
        "first is added twice; tiles from first to last count from the beginning of W":
            _times_with_first_twice(tile, of_chunk),
        "each chunk adds up all tiles": 0 * tile + chunk.max() + 1,
    }  # fmt: skip
    of_own = (last + 1 - chunk * of_chunk).clamp(max=of_chunk)
    counts |= products.twice_in_each_turn(of_own - 1 - tile % of_chunk)
    of_all = products.mistakes_of_counts(counted, counts)
    return of_all + [
        Mistake(
            f"{m.words} (for {parity} k alone)", {f"{parity}_counted": m.parts["counted"]}, True
        )
        for m in of_all
        for parity in ("even", "odd")
    ]


def _times_with_first_twice(tile, of_chunk):
    """How often each tile is used if chunk c counts from c * of_chunk and adds that once more."""
    firsts, tiles = torch.arange(0, tile.max() + 1, of_chunk), tile.max() + 1
    counted_as = tile - firsts
    is_own = (counted_as >= firsts) & (counted_as < (firsts + of_chunk).clamp(max=tiles))
    return is_own.sum(1, keepdim=True)


TRANSPOSED = Model(_parts_of, _mistakes_of, _output, ("k",))
