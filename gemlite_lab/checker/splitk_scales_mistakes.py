"""What wrong answers to splitk_scales give: {mistake in words: case -> output}."""

import torch

from gemlite_edu.numbers import reference


class _Places:
    """Where each k of a case lies: its tile, the split that adds it up, and in which turn."""

    def __init__(self, case):
        self.case, self.block_k, self.splits = case, case.config["BLOCK_K"], case.config["SPLIT_K"]
        self.k, self.n = torch.arange(case.K), torch.arange(case.N)[:, None]
        self.tile = self.k // self.block_k
        self.split, self.turn = self.tile % self.splits, self.tile // self.splits
        self.group = self.k // case.group_size
        self.stride_sg, self.stride_sn = case.scales.stride()

    def group_of(self, tile):
        """The group in which a tile begins."""
        return tile * self.block_k // self.case.group_size

    @property
    def right(self):
        """(N, K) elements of scales and zeros."""
        return self.at(self.group)

    @property
    def as_found(self):
        """The same of the kernel as it ships."""
        k = self.turn * self.splits * self.block_k
        return k * self.stride_sg // self.case.group_size + self.n * self.stride_sn

    def at(self, group):
        """(N, K) elements that are the scales and zeros of these groups."""
        return group * self.stride_sg + self.n * self.stride_sn

    def pick(self, tensor, at):
        """These elements of scales or zeros, in the order of memory; None if one is outside."""
        memory = (tensor if tensor.is_contiguous() else tensor.T).flatten()
        inside = 0 <= int(at.min()) and int(at.max()) < len(memory)
        return memory.double()[at] if inside else None

    def product(self, scales_at=None, zeros_at=None, x_tile=None, code_tile=None):
        """y (M, N), with what is not None in place of what is right."""
        scales_at = self.right if scales_at is None else scales_at
        scales = self.pick(self.case.scales, scales_at)
        zeros = self.pick(self.case.zeros, scales_at if zeros_at is None else zeros_at)
        if scales is None or zeros is None:
            return None
        x, codes = (
            values if tile is None else values[:, tile * self.block_k + self.k % self.block_k]
            for values, tile in ((self.case.x, x_tile), (self.case.codes, code_tile))
        )
        return reference.matmul(x, (codes - zeros) * scales).float()


def _taking(at_of):
    """The mistake of taking scales and zeros from other elements, at_of(_Places)."""

    def output(case):
        places = _Places(case)
        return places.product(scales_at=at_of(places))

    return output


def _of_groups(group_of):
    """The mistake of taking those of other groups."""
    return _taking(lambda p: p.at(group_of(p)))


def _of_tiles(tile_of):
    """The mistake of taking those of other tiles."""
    return _of_groups(lambda p: p.group_of(tile_of(p)))


def _operands(changed):
    """The mistake of other operands: changed(_Places) -> {argument of product: value}."""

    def output(case):
        places = _Places(case)
        return places.product(**changed(places))

    return output


def _turns(p):
    return -(-len(p.k) // (p.block_k * p.splits))


def _last_turn_of_the_split(p):
    last = p.tile.max() - (p.tile.max() - p.split) % p.splits
    return p.group_of(last)


def _scaled_by_the_last_turn(case):
    p = _Places(case)
    scales = p.pick(case.scales, p.at(_last_turn_of_the_split(p)))
    zeros = p.pick(case.zeros, p.right)
    return reference.matmul(case.x, (case.codes - zeros) * scales).float()


MISTAKES = {
    "the split is added to the turn; a turn is SPLIT_K tiles": _of_tiles(
        lambda p: p.turn + p.split
    ),
    "turn and split are exchanged: turn + split * SPLIT_K": _of_tiles(
        lambda p: p.turn + p.split * p.splits
    ),
    "each split is taken to have neighbouring tiles; the splits take turns": _of_tiles(
        lambda p: p.split * _turns(p) + p.turn
    ),
    "the group is that of the split's next tile, SPLIT_K tiles on": _of_tiles(
        lambda p: p.tile + p.splits
    ),
    "the turn's part and the split's part of k are divided apart, and each loses its rest": (
        _of_groups(lambda p: p.group_of(p.turn * p.splits) + p.group_of(p.split))
    ),
    "a turn, or a tile, is taken to be a group: its k is to be divided by GROUP": _of_groups(
        lambda p: p.tile
    ),
    "every tile takes group 0, as BLOCK_K // GROUP is 0": _of_groups(
        lambda p: p.tile * (p.block_k // p.case.group_size)
    ),
    "the group is the remainder of the tiles by those of a group, not the quotient": _of_groups(
        lambda p: p.tile % (p.case.group_size // p.block_k)
    ),
    "k is divided by GROUP upwards": _of_groups(
        lambda p: -(-p.tile * p.block_k // p.case.group_size)
    ),
    "the group is counted in bytes": _of_groups(
        lambda p: p.tile * p.block_k // 2 // p.case.group_size
    ),
    "stride_sg and stride_sn are exchanged": _taking(
        lambda p: p.group * p.stride_sn + p.n * p.stride_sg
    ),
    "stride_sg is left out, and a group is one element long": _taking(
        lambda p: p.group + p.n * p.stride_sn
    ),
    "stride_sn is left out": _taking(lambda p: p.group * p.stride_sg + p.n),
    "scales and zeros are read as contiguous (groups, N), whatever their strides are": _taking(
        lambda p: p.group * p.case.N + p.n
    ),
    "scales and zeros are read as the .T of (N, K / GROUP), whatever their strides are": _taking(
        lambda p: p.n * (p.case.K // p.case.group_size) + p.group
    ),
    "only the scales come from the new place, the zeros from the old one": _operands(
        lambda p: {"zeros_at": p.as_found}
    ),
    "only the zeros come from the new place, the scales from the old one": _operands(
        lambda p: {"scales_at": p.as_found, "zeros_at": p.right}
    ),
    "scales come after the loop: those of the last turn for all of them": (
        _scaled_by_the_last_turn
    ),
    "x and b are moved by one tile a turn; then splits have tiles in common": _operands(
        lambda p: {"x_tile": p.turn + p.split, "code_tile": p.turn + p.split}
    ),
    "x is moved by one tile a turn, b by SPLIT_K tiles": _operands(
        lambda p: {"x_tile": p.turn + p.split}
    ),
    "b is moved by one tile a turn, x by SPLIT_K tiles": _operands(
        lambda p: {"code_tile": p.turn + p.split}
    ),
    "x begins at tile 0 in every split": _operands(lambda p: {"x_tile": p.tile - p.split}),
    "b begins at tile 0 in every split": _operands(lambda p: {"code_tile": p.tile - p.split}),
}
