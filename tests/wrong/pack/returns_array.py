# diagnosis: W_packed is a ndarray, expected a torch.Tensor
import numpy as np


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = np.pad(np.asarray(W_q), ((0, 0), (0, -K % (32 * pack_factor)))).astype(np.uint32)
    fields = codes.reshape(N, -1, pack_factor, 32)
    words = np.zeros((N, fields.shape[1], 32), dtype=np.uint32)
    for j in range(pack_factor):
        words |= fields[:, :, j] << np.uint32(32 - nbits * (j + 1))
    return words.reshape(N, -1).view(np.int32)
