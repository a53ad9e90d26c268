# diagnosis: scales has shape (1, 8), expected (8, 1): that is a scale for each k
import torch


def quantize_tokens(x):
    x = x.float()
    largest = x.abs().amax(dim=0, keepdim=True)
    scales = largest / 127
    scales[scales == 0] = 1
    x_q = (x / scales).round().clamp(-127, 127)
    return x_q.to(torch.int8), scales
