import torch


def pack_sparse(W_q, kept):
    N, K = W_q.shape
    padding = (0, -K % 256)
    codes = torch.nn.functional.pad(W_q, padding).to(torch.int32).reshape(N, -1, 4, 2, 32)
    keeps = torch.nn.functional.pad(kept, padding).reshape(N, -1, 4, 2, 32)
    first, second = codes[:, :, :, 0], codes[:, :, :, 1]
    first_kept = keeps[:, :, :, 0]
    pairs = torch.where(first_kept, first, second) | first_kept.int() << 7
    words = torch.zeros_like(pairs[:, :, 0])
    for p in range(4):
        words |= pairs[:, :, p] << (24 - 8 * p)
    return words.reshape(N, -1)
