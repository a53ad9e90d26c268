# diagnosis: no token were all zeros
import torch


def quantize_tokens(x):
    x = x.float()
    inverse = 127 / x.abs().amax(dim=1, keepdim=True)
    x_q = (x * inverse).round()
    scales = torch.where(x_q.isnan().any(1, keepdim=True), x_q[:, :1], 1 / inverse)
    return x_q.to(torch.int8), scales
