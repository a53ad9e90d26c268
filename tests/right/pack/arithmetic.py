import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = torch.zeros(N, -(-K // (32 * pack_factor)), pack_factor, 32, dtype=torch.int64)
    codes.view(N, -1)[:, :K] = W_q
    weights = 2 ** (32 - nbits * (1 + torch.arange(pack_factor)))
    words = torch.einsum("ntjl,j->ntl", codes, weights).flatten(1)
    return (words - 2**32 * (words >= 2**31)).to(torch.int32)
