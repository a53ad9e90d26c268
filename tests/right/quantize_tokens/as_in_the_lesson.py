import torch


def quantize_tokens(x):
    x = x.float()
    scales = x.abs().amax(dim=1, keepdim=True) / 127
    scales = torch.where(scales == 0, torch.ones_like(scales), scales)
    return torch.round(x / scales).to(torch.int8), scales
