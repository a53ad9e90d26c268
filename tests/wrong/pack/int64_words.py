# diagnosis: W_packed has dtype torch.int64, expected torch.int32
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = torch.nn.functional.pad(W_q.long(), (0, -K % (32 * pack_factor)))
    fields = codes.reshape(N, -1, pack_factor, 32)
    shifts = 32 - nbits * (torch.arange(pack_factor) + 1)
    return (fields << shifts[:, None]).sum(2).reshape(N, -1)
