"""The product of a layer as one torch operator, `gemlite_edu::linear`.

`choose.RULES` decide what computes it: a CUDA kernel, a Triton kernel, or torch's own product with
dequantized weights.
"""

from contextlib import nullcontext
from functools import cache, lru_cache, partial

import torch

from gemlite_edu.kernels.fast_weights import Types
from gemlite_edu.numbers.checks import laid_out
from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.operators import tuning
from gemlite_edu.operators.choose import FAST, MATMUL_TYPES, check_taken, choose
from gemlite_edu.operators.dense_codes import CodedTensors, product_with_dense
from gemlite_edu.operators.form import Form
from gemlite_edu.operators.triton_product import Epilogue, dense, matmul
from gemlite_edu.operators.weight import PackedWeight

_DOT_DTYPES = {DType.FP16: torch.float16}  # in which tensor cores add up, if not in float32
_NOTHING_ELSE = torch._C.DispatchKeySet(torch._C.DispatchKey.BackendSelect)


def _linear(
    x: torch.Tensor,
    token_scales: torch.Tensor | None,
    words: torch.Tensor,
    high: torch.Tensor | None,
    scales: torch.Tensor | None,
    zeros: torch.Tensor | None,
    channel_scales: torch.Tensor | None,
    bias: torch.Tensor | None,
    form: str,
    matmul_type: str,
    levels: torch.Tensor | None = None,
) -> torch.Tensor:
    """The operator's body. form: from `Form.to_text`; matmul_type: a name, or "" for `RULES`.

    levels: float32, the numbers that codes stand for, if the form says that there are some.
    """
    operands = x, token_scales, words, high, scales, zeros, channel_scales, bias, form, matmul_type
    y = _of_fitting(*operands, levels)
    if y is not None:
        return y
    if x.shape[:-1].numel():
        (layout, x_dtype, _), device = Form.of_text(form).operands, words.device
        raise ValueError(
            f"x must be (..., {layout.K}) {x_dtype} on {device}, "
            f"got {tuple(x.shape)} {x.dtype} on {x.device}"
        )
    return _shape_of_linear(*operands)


def _shape_of_linear(
    x,
    token_scales,
    words,
    high,
    scales,
    zeros,
    channel_scales,
    bias,
    form,
    matmul_type,
    levels=None,
):
    *_, y_dtype = Form.of_text(form).operands
    return x.new_empty((*x.shape[:-1], words.shape[1]), dtype=y_dtype)


# torch.library.custom_op would check every call, which takes longer than a launch.
_SCHEMA = torch.library.infer_schema(_linear, mutates_args=())
torch.library.define("gemlite_edu::linear", _SCHEMA)
torch.library.impl("gemlite_edu::linear", "default", _linear)
torch.library.register_fake("gemlite_edu::linear", _shape_of_linear)

linear = torch.ops.gemlite_edu.linear.default  # y (..., N) for x (..., K)


def linear_at_once(*operands):
    """What `linear` returns where nothing but its kernel would come of the call, or see it.

    That is so in torch.inference_mode, which leaves autograd out, for dense tensors that have
    memory, need no gradient and are no subclasses. A mode, a transform of functorch and a tracer
    would add a key to those that the dispatcher looks up; a mode of torch functions and the
    profiler are seen by themselves. Elsewhere it returns None.

    It also returns None for an x that does not fit, so callers need not check x first.
    """
    x, words = operands[0], operands[2]
    if (
        not torch.compiler.is_compiling()
        and type(x) is torch.Tensor
        and type(words) is torch.nn.Parameter
        and x.layout is torch.strided
        and not x.requires_grad
        and not x._is_zerotensor()
        and torch._C._dispatch_tls_local_include_set() == _NOTHING_ELSE
        and not torch._C._len_torch_function_stack()
        and not torch.autograd.profiler._is_profiler_enabled
    ):
        return _of_fitting(*operands)


def _of_fitting(
    x, token_scales, words, high, scales, zeros, channel_scales, bias, form, matmul_type, levels
):
    """y, or None if x does not fit or has no rows."""
    product = _prepared(
        form,
        matmul_type,
        x.shape,
        x.dtype,
        x.device,
        words.shape,
        words.device,
        None if levels is None else levels.device,
        # Written out because a loop would take as long as the rest of this function.
        None if scales is None else scales.dtype,
        None if zeros is None else zeros.dtype,
        None if channel_scales is None else channel_scales.dtype,
        None if bias is None else bias.dtype,
    )
    if isinstance(product, str):
        tensors = x, token_scales, words, high, scales, zeros, channel_scales, bias, levels
        return _by_others(*tensors, form, product)
    if product is not None:
        return product(x, words, scales, zeros, channel_scales, token_scales, bias, levels)


@lru_cache(maxsize=4096)
def _prepared(
    form, matmul_type, shape, x_dtype, device, words_shape, words_device, levels_device, *dtypes
):
    """A CUDA kernel's product from `CudaProduct.prepared`, or the name of another matmul type.

    It is None if x does not fit or has no rows.
    """
    of = Form.of_text(form)
    if levels_device != (words_device if of.has_levels else None):
        needs = f"levels on {words_device}" if of.has_levels else "no levels"
        came = "none" if levels_device is None else f"levels on {levels_device}"
        raise ValueError(f"the codes of this form need {needs}, got {came}")
    layout, expected_dtype, y_dtype = of.operands
    fits = x_dtype == expected_dtype and device == words_device and shape[-1:] == (layout.K,)
    M, N = shape[:-1].numel(), words_shape[1]
    if matmul_type in FAST:
        check_taken(matmul_type, layout, expected_dtype, y_dtype, words_device, N, of.decoders)
    if not fits or M == 0 or device.type == "meta":
        return None
    name = matmul_type or choose(of.problem(M, device)).matmul_type
    if name not in FAST:
        return name
    types = Types(x_dtype, y_dtype, *(dtype or torch.float32 for dtype in dtypes))
    return FAST[name].prepared(shape, N, types, layout, of.mode, device, of.decoders)


def _by_others(*operands):
    """y by torch's own product or a Triton kernel, for x of at least one row.

    operands: the tensors of `linear`, then its form and matmul_type.
    """
    *tensors, form, matmul_type = operands
    tensors = (tensor if tensor is None else laid_out(tensor) for tensor in tensors)
    x, token_scales, words, high, scales, zeros, channel_scales, bias, levels = tensors
    of = Form.of_text(form)
    layout, _, y_dtype = of.operands
    rows = x.view(x.shape[:-1].numel(), layout.K)
    epilogue = Epilogue(y_dtype, token_scales, bias)
    is_dense_on_cpu = matmul_type == "DEQUANTIZE" and x.is_cpu
    if not of.has_triton or (is_dense_on_cpu and of.problem(len(rows), x.device).torch_is_sooner):
        weight = CodedTensors(words, high, scales, zeros, channel_scales, levels)
        y = _autocast_off(product_with_dense, rows, weight, of, epilogue)
        return y.view(*x.shape[:-1], y.shape[1])
    if x.is_cpu:
        _notice_cpu()
    weight = PackedWeight(words, layout, of.mode, scales, zeros, channel_scales, high)
    if matmul_type == "DEQUANTIZE":
        y = _autocast_off(_by_library, rows, weight, epilogue)
    else:
        name, dot_dtype = MATMUL_TYPES[matmul_type], _DOT_DTYPES.get(of.acc_dtype, torch.float32)
        run = partial(matmul, name, epilogue=epilogue, dot_dtype=dot_dtype)
        timed = partial(_timed, run, epilogue)
        y = run(rows, weight, tuning.config_for(name, rows, weight, timed, dot_dtype))
    return y.view(*x.shape[:-1], weight.N)


def _timed(run, epilogue, x, weight, config):
    """Call `run` with token scales of 1, because tuning uses another number of rows."""
    token_scales = None if epilogue.token_scales is None else x.new_ones(len(x), dtype=torch.float)
    return run(x, weight, config, epilogue=Epilogue(epilogue.y_dtype, token_scales, epilogue.bias))


def _by_library(x, weight, epilogue):
    """y by torch's own product with a dense W: for many rows this beats a slower fused kernel."""
    bias = None if epilogue.bias is None else epilogue.bias.to(x.dtype)
    return torch.nn.functional.linear(weight.layout.pad(x), dense(weight, x.dtype), bias)


def _autocast_off(product, x, *others):
    is_off = not torch.is_autocast_enabled(x.device.type)  # asking is faster than entering
    with nullcontext() if is_off else torch.autocast(x.device.type, enabled=False):
        return product(x, *others)


@cache
def _notice_cpu():
    print("On the CPU the Triton kernels are interpreted: right, and thousands of times slower.")
