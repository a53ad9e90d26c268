# diagnosis: all tokens have the scale of the token with the largest |x|
import torch


def quantize_tokens(x):
    x = x.float()
    largest = x.abs().max().expand(len(x), 1)
    scales = largest / 127
    x_q = (x / scales).round().clamp(-127, 127)
    return x_q.to(torch.int8), scales
