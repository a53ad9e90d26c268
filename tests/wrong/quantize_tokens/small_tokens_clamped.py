# diagnosis: every token but those of zeros reached 0.001
import torch


def quantize_tokens(x):
    x = x.float()
    largest = x.abs().amax(dim=1, keepdim=True)
    scales = torch.where(largest == 0, 1, (largest / 127).clamp(min=1e-6))
    x_q = (x / scales).round().clamp(-127, 127)
    return x_q.to(torch.int8), scales
