from fractions import Fraction


def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = Fraction(N * K * nbits, 8) + Fraction(4 * N * K, group_size)
    return nbytes / (read_gb_per_s * 1000)
