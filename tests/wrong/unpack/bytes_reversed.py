# diagnosis: the bytes of each word are read in reverse order
import numpy as np
import torch


def unpack(W_packed, nbits, K):
    N, pack_factor = len(W_packed), 32 // nbits
    words = W_packed.contiguous().numpy().view(np.uint8).reshape(N, -1, 32, 4)
    bits = np.unpackbits(words, axis=-1)[..., : nbits * pack_factor]
    bits = bits.reshape(N, -1, 32, pack_factor, nbits)
    codes = bits @ (1 << np.arange(nbits)[::-1])
    codes = codes.swapaxes(2, 3).reshape(N, -1)[:, :K]
    return torch.from_numpy(codes.astype(np.uint8))
