"""GemLite's names for the dtypes of a kernel's inputs and outputs."""

from enum import Enum

import torch

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)


class DType(Enum):
    """A number type; `value` is the torch dtype. Saved layers store a member as its position here.

    >>> DType.FP16.value, DType.FP8.value
    (torch.float16, torch.float8_e4m3fn)
    """

    FP16 = torch.float16
    BF16 = torch.bfloat16
    INT8 = torch.int8
    INT32 = torch.int32
    FP32 = torch.float32
    FP8 = torch.float8_e4m3fn
    FP8e5 = torch.float8_e5m2


def name_of(dtype: torch.dtype) -> str:
    """The name of a torch dtype, without "torch.".

    >>> name_of(torch.int8)
    'int8'
    """
    return str(dtype).removeprefix("torch.")
