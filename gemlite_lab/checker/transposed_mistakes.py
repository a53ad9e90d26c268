"""What wrong answers to mixed_mm_transposed give: {mistake in words: case -> output}."""

import torch

from gemlite_lab.checker.transposed_terms import Rows, with_operands
from gemlite_lab.checker.transposed_weight_mistakes import WEIGHT_MISTAKES


def _x(x_of):
    return with_operands(lambda r: {"x": x_of(r)})


def _codes(codes_of):
    return with_operands(lambda r: {"codes": codes_of(r)})


def _pairs(pairs_of):
    return with_operands(lambda r: {"pairs": pairs_of(r)})


def _stride(tensor, n, k):
    return n * tensor.stride(1) + k * tensor.stride(0)


def _of_square_tiles(output):
    """The mistake where a tile has as many rows of x and of W as bytes of each row."""

    def where_square(case):
        config = case.config
        sizes = {config["BLOCK_M"], config["BLOCK_N"], config["BLOCK_K"] // 2}
        return output(case) if len(sizes) == 1 else None

    return where_square


def _tiles(output_of):
    """The sum of output_of(Rows, slice of the places of one tile, row of a tile of each m)."""

    def output(case):
        rows, size = Rows.of(case), case.config["BLOCK_N"]
        m = torch.arange(len(case.x)) % size
        slices = [slice(at, at + size) for at in range(0, len(rows.n), size)]
        return sum(output_of(rows, tile, m) for tile in slices).half()

    return _of_square_tiles(output)


def _scaled_after_the_sum(r, tile, m):
    x, codes, scales, zeros = r.right
    return (x[:, tile] @ (codes - zeros)[tile]) * scales[tile][m]


def _x_of_the_other_axis(r, tile, m):
    x, codes, scales, zeros = r.right
    everybody = torch.arange(tile.stop - tile.start) % len(x)
    return x[:, tile][everybody].T[m] @ ((codes - zeros) * scales)[tile]


def _bytes_of_the_other_axis(r, tile, m):
    x, _, scales, zeros = r.right
    size = tile.stop - tile.start
    place, byte = torch.arange(size)[:, None], r.k_in_block // 2
    codes = r.codes_at(r.row[tile][byte[0], 0][None, :], r.first_k + 2 * place + r.k % 2)
    return x[:, tile] @ ((codes - zeros[tile]) * scales[tile])


def _forward(case):
    return (case.x.double() @ case.W.T).half() if case.N == case.K else None


def _added_up(case):
    y = Rows.of(case).product().double()
    return (y + y.unflatten(1, (-1, 2)).flip(2).flatten(1)).half()


def _chunks_from_tile_0(until):
    """Chunk c adds up the tiles from 0 to until(Rows, c, tiles) - 1."""

    def output(case):
        r = Rows.of(case)
        tiles = int(r.tile.max()) + 1
        ends = [until(r, c, tiles) for c in range(min(case.config["chunks"], tiles))]
        times = sum((r.tile < end).double() for end in ends)
        return r.product(x=r.x_at(r.n) * times[:, 0])

    return output


def _halves_of_a_block(r):
    half = r.case.config["BLOCK_K"] // 2
    return r.first_k + r.k_in_block % half * 2 + r.k_in_block // half


MISTAKES = {
    # which bytes, and which codes of them
    "even and odd k are exchanged: the low four bits of a byte are the even k": _codes(
        lambda r: r.codes_at(r.row, r.k ^ 1)
    ),
    "odd k get the sums of even k: the high four bits of the bytes are never used": _codes(
        lambda r: r.codes_at(r.row, r.k - r.k % 2)
    ),
    "even k get the sums of odd k: the low four bits of the bytes are never used": _codes(
        lambda r: r.codes_at(r.row, r.k - r.k % 2 + 1)
    ),
    "y has all even k first and then all odd ones; the two of a byte are neighbours": _codes(
        lambda r: r.codes_at(r.row, _halves_of_a_block(r))
    ),
    "even and odd k are added up in one sum, as in the forward product": _added_up,
    "every program reads the first bytes of its rows: first_k is missing": _codes(
        lambda r: r.codes_at(r.row, r.k_in_block)
    ),
    "each byte is taken twice, as byte k // 2 of BLOCK_K / 2 neighbouring k": _codes(
        lambda r: r.codes_at(r.row, r.first_k + r.k_in_block // 4 * 2 + r.k % 2)
    ),
    "the bytes are read as a contiguous (K / 2, N), whatever their strides are": _codes(
        lambda r: r.codes_from(r.k // 2 * r.case.N + r.row)
    ),
    "the bytes are read as the .T of a contiguous (N, K / 2), whatever their strides are": _codes(
        lambda r: r.codes_from(r.row * (r.case.K // 2) + r.k // 2)
    ),
    "stride_bk and stride_bn are exchanged": _codes(
        lambda r: r.codes_from(_stride(r.case.packed, n=r.k // 2, k=r.row))
    ),
    "every tile reads the bytes of the first rows: tile * BLOCK_N is missing": _codes(
        lambda r: r.codes_at(r.place % r.case.N, r.k)
    ),
    "the bytes' rows are counted from the beginning of the chunk, not of W": _codes(
        lambda r: r.codes_at(r.n_in_chunk % r.case.N, r.k)
    ),
    "a tile's bytes come as (byte, row); as the right operand they are (row, byte)": _tiles(
        _bytes_of_the_other_axis
    ),
    **WEIGHT_MISTAKES,
    # which scales and zeros
    "every program takes group 0": _pairs(lambda r: r.pairs_at(r.row, 0 * r.group)),
    "the group goes on with n; groups lie along k, so a program has one": _pairs(
        lambda r: r.pairs_at(r.row, r.n // r.case.group_size + 0 * r.k)
    ),
    "the group is counted in bytes: first_k // 2 // GROUP": _pairs(
        lambda r: r.pairs_at(r.row, r.first_k // 2 // r.case.group_size)
    ),
    "scales and zeros are read as contiguous (groups, N), whatever their strides are": _pairs(
        lambda r: r.pairs_from(r.group * r.case.N + r.row)
    ),
    "scales and zeros are read as the .T of (N, groups), whatever their strides are": _pairs(
        lambda r: r.pairs_from(r.row * len(r.case.scales) + r.group)
    ),
    "stride_sg and stride_sn are exchanged": _pairs(
        lambda r: r.pairs_from(_stride(r.case.scales, n=r.group, k=r.row))
    ),
    "all rows take the scale and the zero of row 0": _pairs(
        lambda r: r.pairs_at(0 * r.row, r.group)
    ),
    "a tile takes the scale and the zero of its first row for all rows": _pairs(
        lambda r: r.pairs_at(r.n - r.place, r.group)
    ),
    "every tile takes the scales and zeros of the first rows: tile * BLOCK_N is missing": _pairs(
        lambda r: r.pairs_at(r.place % r.case.N, r.group)
    ),
    "the rows of scales and zeros are counted from the beginning of the chunk, not of W": _pairs(
        lambda r: r.pairs_at(r.n_in_chunk % r.case.N, r.group)
    ),
    "scales and zeros go with the bytes of a row; each row has its own": _of_square_tiles(
        _pairs(lambda r: r.pairs_at((r.n - r.place + r.k_in_block // 2) % r.case.N, r.group))
    ),
    "scales come after the dot, where the rows of a tile are added up already": _tiles(
        _scaled_after_the_sum
    ),
    # which x
    "x is read as (N, M); it is (M, N)": _x(
        lambda r: r.x_from((r.n * len(r.case.x)).T + torch.arange(len(r.case.x))[:, None])
    ),
    "the rows of x are taken to be K long; they are N long": _x(
        lambda r: r.x_from(torch.arange(len(r.case.x))[:, None] * r.case.K + r.n.T)
    ),
    "every tile takes the first columns of x: tile * BLOCK_N is missing": _x(
        lambda r: r.x_at(r.place)
    ),
    "the columns of x are counted from the beginning of the chunk, not of the row": _x(
        lambda r: r.x_at(r.n_in_chunk)
    ),
    "x comes as (n, m); as the left operand it is (m, n)": _tiles(_x_of_the_other_axis),
    "beyond N the first rows are added once more: x is not 0 there": _x(
        lambda r: r.x_at(r.n, r.n >= 0)
    ),
    "beyond N the last row is added again and again: x is not 0 there": with_operands(
        lambda r: {
            "x": r.x_at(r.n.clamp(max=r.case.N - 1)),
            "codes": r.codes_at(r.n.clamp(max=r.case.N - 1), r.k),
            "pairs": r.pairs_at(r.n.clamp(max=r.case.N - 1), r.group),
        }
    ),
    "the rows of the last tile are left out if they do not fill it": _x(
        lambda r: r.x_at(r.n, r.tile < r.case.N // r.case.config["BLOCK_N"])
    ),
    # which terms of which sum
    "even_sum and odd_sum are assigned, not added to: only a chunk's last tile counts": _x(
        lambda r: r.x_at(r.n, r.last_of_its_chunk & (r.n < r.case.N))
    ),
    "the last tile of each chunk is left out; range(first, last) ends before last": _x(
        lambda r: r.x_at(r.n, ~r.last_of_its_chunk & (r.n < r.case.N))
    ),
    "odd_sum is never added to": with_operands(
        lambda r: {"codes": torch.where(r.k % 2 == 0, r.codes_at(r.row, r.k), r.right[3])}
    ),
    "each chunk adds up all tiles": _chunks_from_tile_0(lambda r, c, tiles: tiles),
    "each chunk begins at tile 0, not at first": _chunks_from_tile_0(
        lambda r, c, tiles: min((c + 1) * r.tiles_of_a_chunk, tiles)
    ),
    "each chunk adds up the tiles of chunk 0": with_operands(
        lambda r: {
            "x": r.x_at(r.n_in_chunk),
            "codes": r.codes_at(r.n_in_chunk % r.case.N, r.k),
            "pairs": r.pairs_at(r.n_in_chunk % r.case.N, r.group),
        }
    ),
    "the sum goes over k: that is x W^T, the forward product": _forward,
}
