# diagnosis: all is computed in the type of x; make x float32 first
import torch


def quantize_tokens(x):
    largest = x.abs().amax(dim=1, keepdim=True)
    scales = largest / 127
    scales[scales == 0] = 1
    x_q = (x / scales).round()
    return x_q.to(torch.int8), scales.float()
