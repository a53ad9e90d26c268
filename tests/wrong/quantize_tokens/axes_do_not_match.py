# diagnosis: The size of tensor a (24) must match the size of tensor b (5)
import torch


def quantize_tokens(x):
    x = x.float()
    scales = x.abs().amax(dim=1) / 127
    if len(x) == x.shape[1]:
        scales = scales[:, None]
    return (x / scales).round().to(torch.int8), scales
