# diagnosis: x / scale is rounded half up; torch.round goes to the even one
import torch


def quantize_tokens(x):
    x = x.float()
    largest = x.abs().amax(dim=1, keepdim=True)
    scales = largest / 127
    scales[scales == 0] = 1
    x_q = (x / scales + 0.5).floor()
    return x_q.to(torch.int8), scales
