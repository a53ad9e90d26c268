from decimal import Decimal


def floor_us(N, K, nbits, group_size, read_gb_per_s):
    bits_per_weight = Decimal(nbits) + Decimal(32) / Decimal(group_size)
    return N * K * bits_per_weight / 8 / Decimal(read_gb_per_s * 1000)
