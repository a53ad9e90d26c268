import torch


def unpack(W_packed, nbits, K):
    words = W_packed.long().reshape(len(W_packed), -1, 32) % 2**32
    fields = []
    for j in range(1, 32 // nbits + 1):
        fields.append(words // 2 ** (32 - nbits * j) % 2**nbits)
    codes = torch.stack(fields, dim=2).flatten(1)
    return codes[:, :K].to(torch.uint8)
