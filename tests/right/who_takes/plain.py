def who_takes(tile, step, blocks, warps, steps):
    before = tile // blocks * steps + step
    return tile % blocks, before % warps, before // warps
