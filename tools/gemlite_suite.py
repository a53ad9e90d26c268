"""Run GemLite's own tests of integer weights and serialization against this package.

    python tools/gemlite_suite.py gemlite/tests/test_gemlitelineartriton.py [options of pytest]

This file stands in for `gemlite` and the modules that its tests import. GemLite names modes by
numbers, and this package by words.
"""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from gemlite_edu.core import DType, GemLiteLinear
from gemlite_edu.numbers.activations import scale_activations_fp8, scale_activations_int8
from gemlite_edu.numbers.weight_modes import ChannelScaleMode, WeightMode
from gemlite_edu.operators import tuning

GROUP_MODES = {
    WeightMode.NONE: 0,
    WeightMode.SHIFT: 1,
    WeightMode.SCALE: 2,
    WeightMode.SHIFT_SCALE: 3,
    WeightMode.FMA: 4,
}


class GemLiteLinearTriton(GemLiteLinear):
    """Our layer under GemLite's names."""

    @property
    def W_group_mode(self):
        return GROUP_MODES[self.mode]

    @property
    def channel_scale_mode(self):
        has_scales = self.channel_scales is not None
        return list(ChannelScaleMode).index(
            ChannelScaleMode.of(has_scales, self.scaled_activations)
        )

    @property
    def data_contiguous(self):
        return self.layout.nbits is not None

    def get_meta_args(self):
        return self.metadata.tolist()

    def get_tensor_args(self):
        return list(self.parameters())

    def forward_manual(self, x, matmul_type="GEMM"):
        return super().forward_manual(x, matmul_type.replace("GEMV_SPLITK", "GEMV"))


def scale_activations(x, w_dtype):
    """GemLite's function of that name."""
    if w_dtype == torch.int8:
        return scale_activations_int8(x)
    return scale_activations_fp8(x, w_dtype)


def stand_in(name, **names):
    module = ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module
    return module


def main(arguments):
    tuning.set_autotune(False)
    names = {
        "GemLiteLinearTriton": GemLiteLinearTriton,
        "DType": DType,
        "TORCH_TO_DTYPE": {dtype.value: dtype for dtype in DType},
        "scale_activations": scale_activations,
        "set_autotune": lambda *_, **__: None,
        "reset_config": tuning.reset,
        "forward_functional": None,
    }
    stand_in("gemlite", **names)
    stand_in("gemlite.core", **names)
    switches = SimpleNamespace()
    stand_in("gemlite.triton_kernels")
    stand_in("gemlite.triton_kernels.config", KERNEL=switches, KERNEL_CACHE=switches)
    stand_in("gemlite.helper", A4W4_MXFP_dynamic=None, A4W4_NVFP_dynamic=None, patch_model=None)
    return pytest.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
