import torch


def unpack(W_packed, nbits, K):
    pack_factor, rows = 32 // nbits, []
    for row in W_packed.tolist():
        codes = []
        for k in range(K):
            tile, rest = divmod(k, 32 * pack_factor)
            field, lane = divmod(rest, 32)
            codes.append(row[32 * tile + lane] >> (32 - nbits * (field + 1)) & (2**nbits - 1))
        rows.append(codes)
    return torch.tensor(rows, dtype=torch.uint8)
