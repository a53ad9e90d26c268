# diagnosis: the ragged tail of K after the last whole tile is missing
import torch


def pack_sparse(W_q, kept):
    N, K = W_q.shape
    words = torch.zeros(N, -(-K // 256) * 32, dtype=torch.int32)
    for tile in range(K // 256):
        codes = W_q[:, 256 * tile : 256 * tile + 256].int().reshape(N, 4, 2, 32)
        first = kept[:, 256 * tile : 256 * tile + 256].reshape(N, 4, 2, 32)[:, :, 0]
        pairs = torch.where(first, codes[:, :, 0], codes[:, :, 1]) | first.int() << 7
        for p in range(4):
            words[:, 32 * tile : 32 * tile + 32] |= pairs[:, p] << 24 - 8 * p
    return words
