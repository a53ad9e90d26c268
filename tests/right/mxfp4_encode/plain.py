import torch


def mxfp4_encode(w):
    groups = w.double().unflatten(1, (-1, 32))
    largest = groups.abs().amax(dim=2, keepdim=True)
    exponents = (largest.log2().floor() - 2).clamp(min=-127)
    size = (groups / 2**exponents).abs()
    fine, middle, coarse = size.mul(2).round(), size.round() + 2, size.div(2).round() + 4
    codes = torch.where(size < 2, fine, torch.where(size < 4, middle, coarse)).clamp(max=7)
    codes[(groups < 0) & (codes > 0)] += 8
    return exponents.squeeze(2).to(torch.int8), codes.flatten(1).to(torch.uint8)
