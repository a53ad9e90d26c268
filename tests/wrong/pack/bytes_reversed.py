# diagnosis: the bytes of each word are in reverse order
import numpy as np
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = np.pad(W_q.numpy(), ((0, 0), (0, -K % (32 * pack_factor))))
    fields = codes.reshape(N, -1, pack_factor, 32).swapaxes(2, 3)
    bits = np.unpackbits(fields[..., None], axis=-1)[..., 8 - nbits :]
    bits = bits.reshape(N, -1, pack_factor * nbits)
    bits = np.pad(bits, ((0, 0), (0, 0), (0, 32 - pack_factor * nbits)))
    return torch.from_numpy(np.packbits(bits, axis=-1).view(np.int32)[..., 0].copy())
