# diagnosis: It would be right if no token were all zeros.
import torch


def quantize_tokens(x):
    x = x.float()
    largest = x.abs().amax(dim=1, keepdim=True)
    scales = (largest / 127).clamp(min=1e-6)
    x_q = (x / scales).round().clamp(-127, 127)
    return x_q.to(torch.int8), scales
