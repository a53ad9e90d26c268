def who_takes(tile, step, blocks, warps, steps):
    block = tile
    while block >= blocks:
        block -= blocks
    for warp in range(warps):
        at_tile, at_step, turn = block, warp, 0
        while at_tile <= tile:
            if (at_tile, at_step) == (tile, step):
                return block, warp, turn
            at_step += warps
            turn += 1
            if at_step >= steps:
                at_step, at_tile = at_step - steps, at_tile + blocks
