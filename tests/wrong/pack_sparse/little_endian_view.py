# diagnosis: a word holds four neighbouring bytes, the first one in the least significant
import torch


def pack_sparse(W_q, kept):
    N, K = W_q.shape
    padding = (0, -K % 256)
    codes = torch.nn.functional.pad(W_q, padding).reshape(N, -1, 2, 32)
    first_kept = torch.nn.functional.pad(kept, padding).reshape(N, -1, 2, 32)[:, :, 0]
    pairs = torch.where(first_kept, codes[:, :, 0], codes[:, :, 1]) + 128 * first_kept
    return pairs.to(torch.uint8).reshape(N, -1).contiguous().view(torch.int32)
