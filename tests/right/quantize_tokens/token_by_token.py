import torch


def quantize_tokens(x):
    x_q = torch.empty(x.shape, dtype=torch.int8)
    scales = torch.ones(len(x), 1)
    for m, token in enumerate(x.tolist()):
        largest = max(abs(value) for value in token)
        if largest > 0:
            scales[m] = largest / 127
        for k, value in enumerate(token):
            x_q[m, k] = round(value / scales[m].item())
    return x_q, scales
