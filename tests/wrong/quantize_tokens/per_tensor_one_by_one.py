# diagnosis: scales has shape (1, 1), expected (8, 1): that is one scale for the whole tensor
import torch


def quantize_tokens(x):
    x = x.float()
    largest = x.abs().max().reshape(1, 1)
    scales = largest / 127
    x_q = (x / scales).round().clamp(-127, 127)
    return x_q.to(torch.int8), scales
