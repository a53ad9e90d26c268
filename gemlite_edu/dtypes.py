"""Floor 0: GemLite's names of the types that a kernel takes and gives."""

from enum import Enum

import torch


class DType(Enum):
    """A number type; `value` is torch's.

    >>> DType.FP16.value
    torch.float16
    """

    FP16 = torch.float16
    BF16 = torch.bfloat16
    INT8 = torch.int8
    INT32 = torch.int32
