import torch


def quantize_tokens(x):
    x = x.float()
    scales = x.abs().amax(dim=1, keepdim=True) / 127
    steps = (x / scales).nan_to_num(0)
    return steps.round().to(torch.int8), torch.where(scales == 0, 1, scales)
