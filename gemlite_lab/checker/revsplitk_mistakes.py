"""What wrong answers to gemv_revsplitk give: {mistake in words: case -> output}."""

from dataclasses import replace

from gemlite_lab.checker.tile_terms import Tiles


def _in_pairs(change, if_shared=True, roles=("first", "second")):
    """The mistake change(tiles, step, term), where pairs share their scales, or do not."""

    def output(case):
        tiles = Tiles.of(case)
        if tiles.is_shared != if_shared:
            return None
        return tiles.changed(lambda step, term: change(tiles, step, term), roles)

    return output


def _second(change, if_shared=True):
    return _in_pairs(change, if_shared, roles=("second",))


def _of_steps(steps_of):
    """The mistake of taking the steps steps_of(tiles)."""

    def output(case):
        tiles = Tiles.of(case)
        return tiles.output([tiles.right(step) for step in steps_of(tiles)])

    return output


def _without(role):
    return _of_steps(lambda tiles: [step for step in tiles.steps() if step.role != role])


def _both_turns_load_the_first(case):
    tiles = Tiles.of(case)
    return tiles.changed(
        lambda step, term: replace(term, words=step.pair, high=step.pair), roles=("second",)
    )


def _third_bits_of_the_first(case):
    tiles = Tiles.of(case)
    if case.nbits != 3:
        return None
    return tiles.changed(lambda step, term: replace(term, high=step.pair), roles=("second",))


def _loaded_rows_on(rows_of):
    """The second tile of a pair is what lies some rows behind the first one's."""

    def output(case):
        tiles = Tiles.of(case)
        moved = tiles.with_rows_on(rows_of(tiles))
        second = [step for step in tiles.steps() if step.role == "second"]
        others = [step for step in tiles.steps() if step.role != "second"]
        wrong = [replace(tiles.right(s), words=s.pair, high=s.pair) for s in second]
        right = tiles.output([tiles.right(step) for step in others])
        return right + moved.output(wrong)

    return output


def _shared_always(case):
    tiles = Tiles.of(case)
    if tiles.is_shared:
        return None
    return tiles.changed(
        lambda step, term: replace(term, groups=tiles.group_0() + tiles.groups(step.pair)[0])
    )


def _pairs_overlap(case):
    tiles = Tiles.of(case)
    if not tiles.is_shared:
        return None
    return tiles.changed(
        lambda step, term: replace(term, groups=tiles.groups(step.pair)),
        steps=tiles.steps(pair_by=1),
    )


def _group_of_the_chunk(tiles, step, term):
    first = tiles.chunks[step.chunk][0]
    return replace(term, groups=tiles.groups(step.tile - first))


def _counted_again(**kept):
    """What earlier turns of a chunk added to products and sum_x is still there."""

    def output(case):
        tiles = Tiles.of(case)
        if not tiles.is_shared:
            return None

        def change(step, term):
            earlier = [
                replace(tiles.right(s), groups=term.groups, **kept)
                for s in tiles.steps()
                if (s.chunk, s.role) == (step.chunk, step.role) and s.turn < step.turn
            ]
            return [term, *earlier]

        return tiles.changed(change)

    return output


def _last_pair_only(tiles, step, term):
    turns = [s.turn for s in tiles.steps() if s.chunk == step.chunk and s.role == "first"]
    return term if step.turn == max(turns) else None


def _last_tile_again(is_added):
    """Where is_added(tiles), the last tile of each chunk with an even number of them, once more."""

    def steps(tiles):
        extra = [
            tiles.left_over(last - 1, chunk)
            for chunk, (first, last) in enumerate(tiles.chunks)
            if (last - first) % 2 == 0 and is_added(tiles)
        ]
        return [*tiles.steps(), *extra]

    return _of_steps(steps)


def _empty_chunks_too(tiles):
    """A chunk that begins beyond the last tile, by an odd number of tiles, adds that tile."""
    first, last = tiles.chunks[0]
    begins = range(len(tiles.chunks) * (last - first), tiles.case.chunks * (last - first), last)
    extra = [tiles.left_over(tiles.tiles - 1, 0) for begin in begins if (begin - tiles.tiles) % 2]
    return [*tiles.steps(), *extra]


def _from_tile_0(tiles):
    """Each chunk takes the pairs of all chunks before it, too."""
    steps = tiles.steps()
    repeats = [
        step
        for chunk in range(len(tiles.chunks))
        for step in steps
        if step.chunk < chunk and step.role != "left over"
    ]
    return [*steps, *repeats]


def _fma_not_passed_on(case):
    tiles = Tiles.of(case)
    if not case.is_fma:
        return None
    return replace(tiles, zeros=-tiles.zeros * tiles.scales).changed(lambda step, term: term)


MISTAKES = {
    "the tile that is left over, where a chunk has an odd number of tiles, is forgotten": (
        _without("left over")
    ),
    "the second tile of each pair is never used": _without("second"),
    "the second tile meets the x of the first: TILE is missing in its x pointers": _second(
        lambda tiles, step, term: replace(term, x_at=step.pair * tiles.size)
    ),
    "tile_sum is given tile for the second tile, too; that is tile + 1": _second(
        lambda tiles, step, term: replace(
            term, x_at=step.pair * tiles.size, groups=tiles.groups(step.pair)
        ),
        if_shared=False,
    ),
    "both tiles of a pair are loaded from the place of the first": _both_turns_load_the_first,
    "the second tile is loaded DEPTH words on, where the next row of the first one lies": (
        _loaded_rows_on(lambda tiles: 1)
    ),
    "the second tile is loaded TILE words on; TILE counts codes, a tile has N * DEPTH words": (
        _loaded_rows_on(lambda tiles: tiles.codes.shape[2])
    ),
    "the third bits of the second tile are those of the first": _third_bits_of_the_first,
    "two tiles share scales and zeros although they lie in different groups": _shared_always,
    "sum_x has only the x of the first tile, so that the zero is not taken from the second": (
        _second(lambda tiles, step, term: replace(term, zeros=0.0))
    ),
    "sum_x has only the x of the second tile, so that the zero is not taken from the first": (
        _in_pairs(lambda tiles, step, term: replace(term, zeros=0.0), roles=("first",))
    ),
    "products and sum_x start again at 0 for the second tile, and the first is lost": _in_pairs(
        lambda tiles, step, term: None, roles=("first",)
    ),
    "products start again at 0 for the second tile; only sum_x has both": _in_pairs(
        lambda tiles, step, term: replace(term, products=0.0), roles=("first",)
    ),
    "tile goes up by 1, not by 2, so that pairs overlap": _pairs_overlap,
    "every pair takes group 0: tile * TILE // GROUP is its group": _in_pairs(
        lambda tiles, step, term: replace(term, groups=tiles.group_0())
    ),
    "the group is counted from the first tile of the chunk, not of the row": _in_pairs(
        _group_of_the_chunk
    ),
    "products and sum_x are never set back to 0: each turn adds the earlier ones again": (
        _counted_again()
    ),
    "sum_x is never set back to 0: each turn takes the zero from earlier x again": (
        _counted_again(products=0.0)
    ),
    "products are never set back to 0: each turn adds the earlier ones again": (
        _counted_again(zeros=0.0)
    ),
    "acc is assigned, not added to, so that only the last pair of a chunk counts": _in_pairs(
        _last_pair_only
    ),
    "the products of pairs are added without scaled(...): no scale, no zero": _in_pairs(
        lambda tiles, step, term: replace(term, groups=None)
    ),
    "x is taken at k = tile; a tile begins at k = tile * TILE": _in_pairs(
        lambda tiles, step, term: replace(
            term, x_at=step.pair + (step.tile - step.pair) * tiles.size
        )
    ),
    "the last tile is added once more where the number of tiles is even": _last_tile_again(
        lambda tiles: tiles.tiles % 2 == 0
    ),
    "the last tile of every chunk is added once more if tiles is odd; last - first counts": (
        _last_tile_again(lambda tiles: tiles.tiles % 2 == 1)
    ),
    "a chunk without tiles, whose first is beyond last, adds tile last - 1 once more": _of_steps(
        _empty_chunks_too
    ),
    "each chunk adds up all of K": _of_steps(lambda tiles: tiles.steps() * len(tiles.chunks)),
    "each chunk begins at tile 0, not at first": _of_steps(_from_tile_0),
    "FMA is not passed on: zeros are then -z s, and have to be added": _fma_not_passed_on,
}
