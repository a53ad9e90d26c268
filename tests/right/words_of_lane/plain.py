def words_of_lane(lane, K):
    tiles = (K + 255) // 256
    return [32 * tile + lane for tile in range(tiles)]
