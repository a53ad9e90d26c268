import numpy as np
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = np.pad(W_q.numpy(), ((0, 0), (0, -K % (32 * pack_factor))))
    codes = codes.reshape(N, -1, pack_factor, 32).swapaxes(2, 3)
    bits = np.unpackbits(codes[..., None], axis=-1)[..., 8 - nbits :]
    word_bits = np.zeros((N, codes.shape[1] * 32, 32), dtype=np.uint8)
    word_bits[..., : nbits * pack_factor] = bits.reshape(N, -1, nbits * pack_factor)
    words = np.packbits(word_bits, axis=-1).view(">i4")[..., 0]
    return torch.from_numpy(words.astype(np.int32))
