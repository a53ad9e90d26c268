"""How far gemm_a16wn_fast may be off for more than 16 rows of x, where it makes weights in fp16."""

from dataclasses import replace

import torch

from gemlite_edu.numbers.bounds import tensor_core_error_bound


def many_rows_error_bound(product, out_dtype):
    """Of a `ScaledProduct`; (M, N). The whole part of a zero comes off a code exactly; what is left
    makes a weight as one multiply-add in fp16."""
    codes, zeros, _ = product.parts
    rest = None if product.zeros is None else product.zeros - product.zeros.round()
    centered = replace(product, codes=codes - zeros.round(), zeros=rest)
    fused = dict(compute_dtype=torch.float16, fused_dtype=torch.float32)
    return tensor_core_error_bound(centered, out_dtype, **fused)
