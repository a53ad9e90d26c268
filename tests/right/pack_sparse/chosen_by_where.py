import torch


def pack_sparse(W_q, kept):
    padding = (0, -W_q.shape[1] % 256)
    shape = len(W_q), -1, 4, 2, 32
    codes = torch.nn.functional.pad(W_q, padding).to(torch.int32).reshape(shape)
    first = torch.nn.functional.pad(kept, padding).reshape(shape)[:, :, :, 0]
    pairs = torch.where(first, codes[:, :, :, 0], codes[:, :, :, 1]) | first.int() << 7
    words = torch.zeros_like(pairs[:, :, 0])
    for p in range(4):
        words |= pairs[:, :, p] << 24 - 8 * p
    return words.flatten(1)
