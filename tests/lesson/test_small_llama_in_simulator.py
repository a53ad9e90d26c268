"""A kernel that a learner could write multiplies in all linear layers of the small Llama."""

import copy

import torch

from gemlite_edu import load, pack_warped_int32, quantize_linear
from gemlite_lab import Cache, prompt, small_llama


class KernelLinear(torch.nn.Module):
    """A linear layer whose product a simulated kernel computes."""

    def __init__(self, linear, kernel):
        super().__init__()
        self.q = quantize_linear(linear.weight, 4, group_size=128)
        self.W, self.kernel, self.rows = pack_warped_int32(self.q.W_q, 4), kernel, []

    def forward(self, x):
        self.rows.append(x.numel() // x.shape[-1])
        return self.kernel(x.flatten(0, -2).half(), self.W, self.q.scales, self.q.zeros)[None]


def put_kernels(model, kernel):
    """Two models with the same codes: one multiplies by the kernel, one by dense weights."""
    dense = copy.deepcopy(model)
    for name, linear in list(model.named_modules()):
        if isinstance(linear, torch.nn.Linear):
            layer = KernelLinear(linear, kernel)
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], layer)
            dense.get_submodule(name).weight.copy_(layer.q.dequantize(torch.float32))
    return model, dense


def test_a_kernel_in_the_simulator_gives_the_logits_of_the_dequantized_weights():
    kernel = load("gemv_a16wn_fp32", nbits=4, group_size=128)
    simulated, dense = put_kernels(small_llama(), kernel)
    tokens = prompt()[:, -2:]
    caches = Cache(dense.config), Cache(dense.config)
    for some in tokens.split(1, dim=1):
        logits, expected = simulated(some, caches[0]), dense(some, caches[1])
        torch.testing.assert_close(logits.float(), expected, atol=0.05, rtol=0.01)
    rows = [m.rows for m in simulated.modules() if isinstance(m, KernelLinear)]
    assert rows == [[1, 1]] * 13
