# diagnosis: the position is read off the codes, so that a kept code of 0 counts as pruned
import torch


def pack_sparse(W_q, kept):
    N, K = W_q.shape
    padding = (0, -K % 256)
    codes = torch.nn.functional.pad(W_q * kept, padding).to(torch.int32).reshape(N, -1, 4, 2, 32)
    first, second = codes[:, :, :, 0], codes[:, :, :, 1]
    first_kept = first > second
    pairs = first | second | first_kept.int() << 7
    words = torch.zeros_like(pairs[:, :, 0])
    for p in range(4):
        words |= pairs[:, :, p] << (24 - 8 * p)
    return words.reshape(N, -1)
