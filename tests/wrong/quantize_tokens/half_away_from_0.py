# diagnosis: x / scale is rounded half away from 0; torch.round goes to the even one
import torch


def quantize_tokens(x):
    x = x.float()
    largest = x.abs().amax(dim=1, keepdim=True)
    scales = largest / 127
    scales[scales == 0] = 1
    x_q = torch.trunc(x / scales + 0.5 * x.sign())
    return x_q.to(torch.int8), scales
