import math


def words_of_lane(lane, K):
    return list(range(lane, 32 * math.ceil(K / 256), 32))
