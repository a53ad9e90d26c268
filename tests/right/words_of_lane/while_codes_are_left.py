def words_of_lane(lane, K):
    words, left = [], K
    while left > 0:
        words.append(words[-1] + 32 if words else lane)
        left -= 32 * 8
    return tuple(words)
