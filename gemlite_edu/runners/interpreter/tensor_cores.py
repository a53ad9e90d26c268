"""Multiply in the interpreter as tensor cores do: they take 11 bits of a float32's fraction.

Unless a `tl.dot` asks for another input_precision, operands in float32 are rounded to TF32. The
float32 that the interpreter computes in for want of fp16 loses nothing by it: fp16 has 11 bits too.
"""

import numpy as np

_DROPPED = 13  # bits


def patches(builder_class):
    """{method of the interpreter's builder: the same, with operands rounded first}."""
    from triton._C.libtriton import ir

    dot = builder_class.create_dot

    def rounding_dot(builder, a, b, d, input_precision, *rest):
        if input_precision == ir.INPUT_PRECISION.TF32 and a.data.dtype == np.float32:
            a, b = (type(x)(rounded(x.data), x.dtype) for x in (a, b))
        return dot(builder, a, b, d, input_precision, *rest)

    return {"create_dot": rounding_dot}


def rounded(numbers):
    """float32 numbers rounded to the nearest of TF32."""
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    half = np.uint32(1 << (_DROPPED - 1))
    kept = (bits + half) & np.uint32(~((1 << _DROPPED) - 1) & 0xFFFFFFFF)
    return np.where(np.isfinite(numbers), kept.view(np.float32), numbers)
