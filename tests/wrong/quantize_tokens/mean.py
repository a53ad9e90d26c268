# diagnosis: the mean |x| is taken, not the largest
import torch


def quantize_tokens(x):
    x = x.float()
    mean = x.abs().mean(dim=1, keepdim=True)
    scales = mean / 127
    scales[scales == 0] = 1
    x_q = (x / scales).round().clamp(-127, 127)
    return x_q.to(torch.int8), scales
