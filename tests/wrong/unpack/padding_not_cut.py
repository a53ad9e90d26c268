# diagnosis: W_q has shape (3, 1024), expected (3, 1000)
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    words = W_packed.reshape(N, -1, 1, 32)
    shifts = torch.tensor([32 - nbits * (j + 1) for j in range(32 // nbits)]).view(-1, 1)
    codes = (words >> shifts) & (2**nbits - 1)
    return codes.reshape(N, -1).to(torch.uint8)
