import torch


def quantize_tokens(x):
    x = x.to(torch.float32)
    low, high = x.aminmax(dim=1, keepdim=True)
    largest = torch.maximum(-low, high)
    largest[largest == 0] = 127
    x_q = (x / (largest / 127)).round().clamp(min=-128, max=127)
    return [x_q.to(torch.int8), largest / 127]
