"""torchao's layout of 4-bit codes: a byte holds two neighbours along k, the even one lowest.

    k = 1 0     codes 5, 12 (unsigned): 0xc5       codes 5, -4 (signed): 0xc5

with the most significant bits on the left. The dtype of the bytes tells what the codes are: uint8
for codes 0 to 15, int8 for codes -8 to 7 in two's complement. Both functions take and return codes
transposed, (K, N).
Source: torchao's `pack_2xint4`, which calls it a row interleave.
"""

from dataclasses import dataclass

import torch

from gemlite_edu.packing.address_map import Address

CODE_RANGES = {torch.uint8: (0, 15), torch.int8: (-8, 7)}


@dataclass(frozen=True)
class Int4Pairs:
    """The address map: for even k, byte (k // 2, n) holds the codes k and k + 1 of output n.

    >>> Int4Pairs().locate(n=5, k=3)
    Address(row=1, col=5, shift=4)
    """

    nbits = 4
    word_dtype = torch.uint8

    def packed_shape(self, N: int, K: int) -> tuple[int, int]:
        """Shape of the bytes of an (N, K) matrix with even K."""
        if K % 2:
            raise ValueError(f"K must be even, as a byte holds two codes, got {K}")
        return K // 2, N

    def locate(self, n: int, k: int) -> Address:
        """The `Address` of code W_q[n, k]."""
        if n < 0 or k < 0:
            raise ValueError(f"n and k start at 0, got ({n}, {k})")
        return Address(k // 2, n, 4 * (k % 2))


def pack_2xint4(codes: torch.Tensor) -> torch.Tensor:
    """Pack 4-bit codes (K, N), transposed weights such as `W_q.T`, into bytes (K / 2, N).

    codes: uint8, 0 to 15, or int8, -8 to 7; the bytes have the same dtype. The bytes of one output
    are adjacent in memory: the result's `.T` is contiguous, whatever the strides of the codes.
    Raises TypeError or ValueError for another dtype, rank or range, or an odd K.

    >>> W_q = torch.tensor([[5, 12, 1, 2]], dtype=torch.uint8)
    >>> [hex(pair) for pair in pack_2xint4(W_q.T).flatten()]
    ['0xc5', '0x21']
    """
    _check("codes", codes)
    if len(codes) % 2:
        raise ValueError(f"codes (K, N) must have an even K, got {tuple(codes.shape)}")
    low, high = CODE_RANGES[codes.dtype]
    if int(codes.min()) < low or int(codes.max()) > high:
        raise ValueError(
            f"{codes.dtype} codes of 4 bits are {low} to {high}, "
            f"got {int(codes.min())} to {int(codes.max())}"
        )
    by_output = codes.T.contiguous()
    return (by_output[:, 0::2] & 15 | by_output[:, 1::2] << 4).T


def unpack_2xint4(packed: torch.Tensor) -> torch.Tensor:
    """The inverse of `pack_2xint4`: bytes (K / 2, N) to codes (K, N) of the same dtype."""
    _check("packed", packed)
    by_output = packed.T
    pairs = torch.stack([by_output << 4 >> 4, by_output >> 4], dim=2)  # int8 keeps its sign
    return pairs.reshape(len(by_output), -1).T


def _check(name: str, tensor: torch.Tensor) -> None:
    if not isinstance(tensor, torch.Tensor) or tensor.dtype not in CODE_RANGES:
        came = tensor.dtype if isinstance(tensor, torch.Tensor) else type(tensor).__name__
        raise TypeError(f"{name} must be a torch.uint8 or torch.int8 tensor, got {came}")
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        came = "on meta" if tensor.device.type == "meta" else tensor.layout
        raise TypeError(f"{name} must be a dense tensor with numbers in it, got {came}")
    if tensor.dim() != 2 or tensor.numel() == 0:
        raise ValueError(f"{name} must be a matrix, not empty, got {tuple(tensor.shape)}")
