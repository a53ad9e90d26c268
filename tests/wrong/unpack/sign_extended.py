# diagnosis: the codes are sign-extended: >> of int32 keeps the sign, so mask after it
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    words = W_packed.reshape(N, -1, 32)
    fields = []
    for j in range(32 // nbits):
        # push away what is above the code, then what is below it
        fields.append((words << nbits * j) >> (32 - nbits))
    return torch.stack(fields, dim=2).reshape(N, -1)[:, :K].to(torch.uint8)
