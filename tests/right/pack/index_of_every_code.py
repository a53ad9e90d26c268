import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    k = torch.arange(K)
    tile, within = k // (32 // nbits * 32), k % (32 // nbits * 32)
    shifted = W_q.long() << (32 - nbits * (within // 32 + 1))
    words = torch.zeros(N, 32 * (int(tile[-1]) + 1), dtype=torch.long)
    words.index_add_(1, 32 * tile + within % 32, shifted)
    return words.to(torch.int32)
