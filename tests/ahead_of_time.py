"""Kernels of a case compiled for any GPU, on a machine without one."""

import re

from triton_cases import FP16, FP32, INT8, INT32

_NAMES = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5", "int8": "i8", "int16": "i16", "int32": "i32", "uint8": "u8",
    "uint16": "u16", "uint32": "u32",
}  # fmt: skip


def build(case, capability, name=None):
    """What Triton makes of the kernel of a case for a compute capability such as 90.

    name: of another kernel of the case, "add_chunks" or "dequantize_weights".
    """
    from gemlite_edu.operators.triton_product import dense_block
    from gemlite_edu.runners.triton import kernel

    function = kernel(name or case.kernel, interpreted=False)
    known = _known(case, capability)
    config = case.config
    if name == "dequantize_weights":
        known["BLOCK_N"] = dense_block(case.layout)
        config = {"num_warps": 4, "num_stages": 3}  # as Triton takes them unasked
    signature = {argument: _type_of(argument, case, known) for argument in function.arg_names}
    return _compiled(function, signature, known, config, capability, ("N", "K"))


def shared_bytes(case, capability):
    """Bytes of shared memory that the kernel of a case needs; no assembler is asked."""
    from gemlite_edu.runners.ahead_of_time import STAGES, compiled
    from gemlite_edu.runners.triton import kernel

    function, known = kernel(case.kernel, interpreted=False), _known(case, capability)
    signature = {argument: _type_of(argument, case, known) for argument in function.arg_names}
    source = _source(function, signature, known, ("N", "K"))
    return compiled(source, capability, _options(case.config), STAGES)["shared"]


def build_int4(name, config, capability, a_dtype, codes_dtype, scale_dtype, group_size, dot_dtype):
    """The same for an int4 kernel; b and scales lie in memory as `pack_2xint4` and torch do."""
    from gemlite_edu.runners.triton import kernel

    function = kernel(name, interpreted=False)
    known = {"stride_bk": 1, "stride_sn": 1, "GROUP": group_size}
    known |= {"DTYPE": _triton_type(a_dtype), "DOT_DTYPE": _triton_type(dot_dtype)} | config
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "dense_ptr"), a_dtype)
    pointers |= {"b_ptr": codes_dtype, "scales_ptr": scale_dtype, "zeros_ptr": scale_dtype}
    signature = {
        argument: "constexpr" if argument in known else _kind_of(pointers.get(argument))
        for argument in function.arg_names
    }
    divisible = ("N", "K", "stride_bn", "stride_sg")
    return _compiled(function, signature, known, config, capability, divisible)


def products_that_triton_makes_wrong(compiled):
    """Operands of tl.dot that four lanes cannot hold without holding some of it twice.

    A lane has kWidth neighbours along the sum, more of them the narrower the type was that they
    were unpacked from. Triton up to 3.7 lets that pass (its pull request 11691), and adds up wrong.
    """
    operand = r"tensor<(\d+)x(\d+)x\w+, #ttg\.dot_op<\{opIdx = (\d), .*?kWidth = (\d+)\}>>"
    dots = re.findall(r"^.* = (?:tt\.dot|ttng\.warp_group_dot) .*$", compiled.asm["ttgir"], re.M)
    found = set(re.findall(operand, "\n".join(dots)))
    return {
        (rows, columns, side, width)
        for rows, columns, side, width in found
        if 4 * int(width) > int(columns if side == "0" else rows)
    }


def _compiled(function, signature, known, config, capability, divisible):
    import triton
    from triton.backends.compiler import GPUTarget

    return triton.compile(
        _source(function, signature, known, divisible),
        target=GPUTarget("cuda", capability, 32),
        options=_options(config),
    )


def _source(function, signature, known, divisible):
    from triton.compiler import ASTSource

    constants = {argument: known[argument] for argument in function.arg_names if argument in known}
    aligned = {
        (position,): [["tt.divisibility", 16]]
        for position, (argument, kind) in enumerate(signature.items())
        if kind.startswith("*") or argument in divisible
    }
    return ASTSource(function, signature, constants, aligned)


def _options(config):
    return {name: config[name] for name in ("num_warps", "num_stages")}


def _known(case, capability):
    missing = {pointer: None for pointer, dtype in _pointers(case).items() if dtype is None}
    return _constants(case, capability) | missing


def _type_of(argument, case, known):
    if argument in known:
        return "constexpr"
    return _kind_of(_pointers(case).get(argument))


def _kind_of(dtype):
    """Of an argument that points to numbers of a type; None: of a number."""
    return "i32" if dtype is None else f"*{_NAMES[str(dtype).removeprefix('torch.')]}"


def _triton_type(dtype):
    import triton.language as tl

    return getattr(tl, str(dtype).removeprefix("torch."))


def _pointers(case):
    """{pointer: type of what it points to, None where a case has none}."""
    words = _words(case)
    high = _words(case, case.layout.high) if case.layout.high else None
    sums = INT32 if case.sums_are_int32 else FP32
    return {
        "x_ptr": case.x_dtype,
        "W_ptr": words,
        "high_ptr": high,
        "scales_ptr": case.scale_dtype if case.has_scales else None,
        "zeros_ptr": case.scale_dtype if case.has_zeros else None,
        "channel_scales_ptr": FP32 if case.has_channel_scales else None,
        "token_scales_ptr": FP32 if case.has_token_scales else None,
        "bias_ptr": (case.scale_dtype or FP32) if case.bias else None,
        "partial_ptr": sums,
        "y_ptr": FP32 if case.y_dtype.itemsize == 1 else case.y_dtype,
        "dense_ptr": case.compute_dtype,
    }


def _words(case, layout=None):
    layout = layout or case.layout
    if not case.is_packed:
        return case.weights
    bits = layout.word_bits
    return f"{'int' if case.words == 'signed' and bits > 8 else 'uint'}{bits}"


def _constants(case, capability):
    layout = case.layout
    dot, compute = case.dot_dtype, case.compute_dtype
    if compute == INT8 and capability < 80:
        compute = FP16  # Triton has no product of int8 for older tensor cores
    elif compute == INT8:
        dot = INT32
    dtypes = {"DTYPE": compute, "DOT_DTYPE": dot}
    dtypes["ACC_DTYPE"] = INT32 if case.sums_are_int32 else FP32
    return {
        "NBITS": layout.nbits,
        "FIELDS": layout.fields,
        "DEPTH": layout.depth,
        "GROUP": layout.padded_group if layout.group_size else None,
        "FMA": case.mode.name == "FMA",
        "ATOMIC": case.atomic,
        "STAGES": case.config["num_stages"],
        "BLOCK_M": case.config["BLOCK_M"],
        "BLOCK_N": case.config["BLOCK_N"],
        "BLOCK": 128,
        "CHUNKS": case.config["chunks"],
        **{key: _triton_type(dtype) for key, dtype in dtypes.items()},
    }
