import torch


def pack_sparse(W_q, kept):
    N, K = W_q.shape
    words = torch.zeros(N, 32 * -(-K // 256), dtype=torch.int64)
    n, k = kept.nonzero().T
    pair, lane, is_first = k % 256 // 64, k % 32, k % 64 < 32
    bytes_ = W_q[n, k].long() + 128 * is_first
    words.index_put_((n, k // 256 * 32 + lane), bytes_ << (24 - 8 * pair), accumulate=True)
    return words.to(torch.int32)
