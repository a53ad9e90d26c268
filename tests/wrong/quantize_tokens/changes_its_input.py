# diagnosis: quantize_tokens changed its input x: work on a copy
import torch


def quantize_tokens(x):
    largest = x.float().abs().amax(dim=1, keepdim=True)
    scales = largest / 127
    scales[scales == 0] = 1
    x_q = x.div_(scales).round_().clamp_(-127, 127)
    return x_q.to(torch.int8), scales
