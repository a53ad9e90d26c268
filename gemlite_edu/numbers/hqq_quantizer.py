"""hqq's calibration-free quantizer as a function for `quantize_`; the hqq library is optional."""

from collections.abc import Callable

import torch

from gemlite_edu.numbers.coded_weight import CodedWeight, check_is_format
from gemlite_edu.numbers.format import Format

_SCALE_DTYPES = (torch.float16, torch.float32)


def hqq_quantizer(format: Format) -> Callable[[torch.Tensor, Format], CodedWeight]:
    """A function from (W (N, K), format) to a `CodedWeight`, by hqq's half-quadratic optimization.

    format: integers of a width that hqq has, with float16 or float32 scales. Zeros are no integers.
    Raises ValueError for another format, and ImportError without hqq (tested with 0.2.8).
    Source: Badri and Shaji 2023, Half-Quadratic Quantization of Large Machine Learning Models.
    """
    check_is_format(format)
    if format.levels is not None or format.scale_dtype not in _SCALE_DTYPES:
        raise ValueError(
            f"hqq quantizes to integers with float16 or float32 scales, not to {format}: "
            "take a format such as INT4, or leave quantizer out"
        )
    try:
        from hqq.core.quantize import Quantizer
    except ImportError as error:
        raise ImportError(
            f'quantizer="hqq" needs the hqq library, which does not import here ({error}): '
            "pip install hqq"
        ) from error
    if format.nbits not in Quantizer.SUPPORTED_BITS:
        raise ValueError(f"hqq has no codes of {format.nbits} bits: leave quantizer out")

    def quantizer(W: torch.Tensor, format: Format) -> CodedWeight:
        N, K = W.shape
        codes, meta = Quantizer.quantize(
            W.detach().float(),
            nbits=format.nbits,
            group_size=format.group_size or K,
            axis=1,
            bitpack=False,
            device=W.device,
        )
        of_groups = N, format.groups_of(K)
        scales = meta["scale"].reshape(of_groups).to(format.scale_dtype)
        zeros = meta["zero"].reshape(of_groups).float()
        return CodedWeight(format, codes.reshape(N, K).to(torch.uint8), scales, zeros)

    return quantizer
