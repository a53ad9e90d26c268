# diagnosis: x were float32
import torch


def quantize_tokens(x):
    largest = x.float().abs().amax(dim=1, keepdim=True)
    scales = largest / 127
    scales[scales == 0] = 1
    x_q = (x / scales.to(x.dtype)).round().clamp(-127, 127)
    return x_q.to(torch.int8), scales
