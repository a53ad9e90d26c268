def who_takes(tile, step, blocks, warps, steps):
    own_tile, block = divmod(tile, blocks)
    turn, warp = divmod(own_tile * steps + step, warps)
    return [block, warp, turn]
