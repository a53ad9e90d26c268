# diagnosis: the two codes of each pair of fields are swapped
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    words = W_packed.reshape(N, -1, 32)
    mask = 2**nbits - 1
    fields = []
    for i in range(32 // nbits // 2):
        pair = words >> (32 - 2 * nbits * (i + 1))
        fields.append(pair & mask)
        fields.append((pair >> nbits) & mask)
    return torch.stack(fields, dim=2).reshape(N, -1)[:, :K].to(torch.uint8)
