# diagnosis: every row holds row 0
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    padded_K = -(-K // (32 * pack_factor)) * 32 * pack_factor
    flat = torch.nn.functional.pad(W_q, (0, padded_K - K)).flatten().to(torch.int32)
    words = torch.zeros(N, padded_K // pack_factor, dtype=torch.int32)
    for n in range(N):
        for k in range(padded_K):
            j, lane = divmod(k % (32 * pack_factor), 32)
            tile = k // (32 * pack_factor)
            words[n, 32 * tile + lane] |= flat[k] << (32 - nbits * (j + 1))
    return words
