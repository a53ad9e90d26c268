# diagnosis: raised TypeError at `scales = x.abs().max(dim=1, keepdim=True) / 127`
import torch


def quantize_tokens(x):
    x = x.float()
    scales = x.abs().max(dim=1, keepdim=True) / 127
    return (x / scales).round().to(torch.int8), scales
