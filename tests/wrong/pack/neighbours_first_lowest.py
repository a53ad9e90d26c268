# diagnosis: a word holds neighbouring k, the first one in the least significant bits
import torch


def pack(W_q, nbits):
    rows, K = W_q.shape
    per_word = 32 // nbits
    total = -(-K // (32 * per_word)) * 32 * per_word
    codes = torch.zeros(rows, total, dtype=torch.int64)
    codes[:, :K] = W_q
    weights = 2 ** (nbits * torch.arange(per_word))
    return (codes.view(rows, -1, per_word) * weights).sum(-1).to(torch.int32)
