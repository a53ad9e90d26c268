"""The GEMVs that the lessons build: for unquantized weights, and around the skeleton gemv.cuh."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gemlite_edu.kernels import holes
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.machine import SHARED_BYTES_WITHOUT_OPT_IN
from gemlite_edu.kernels.plan import (
    WARP_SIZE,
    WHOLE_ROW,
    Launch,
    Plan,
    check_sizes,
    codes_per_group,
    rows_in_one_pass,
)
from gemlite_edu.kernels.spec import Spec
from gemlite_edu.numbers.checks import check_group_size, check_int32_range, check_matrix, per_group
from gemlite_edu.packing import BitPlanes3, Sparse1in2, WarpInterleaved

_X_TYPES = {torch.float16: "half", torch.bfloat16: "__nv_bfloat16", torch.int8: "int8_t"}
_THREADS = 1024
_SHARED_BY_ROWS = (
    "scales and zeros are loaded for each row of x: a GPU's compiler loads them once for the rows "
    "of a pass"
)


class _Gemv(Spec):
    """The part that both families of GEMVs share."""

    usual_shape = (1, None)

    @property
    def counted_as(self):
        """The kernel's name in the Nsight Compute records."""
        width = "" if self.nbits is None else f", {self.nbits} bits"
        return f"{self.name}{width}, {str(self.x_dtype)[6:]}"

    def _check_columns(self, x, W, expected, what):
        K, columns = x.shape[1], W.shape[1]
        if columns != expected:
            raise ValueError(
                f"x has K = {K}, for which W must have {expected} columns of {what}, got {columns}"
            )
        check_sizes(x.shape[0], W.shape[0], K)

    def _plan_of_one(self, defines, grid, threads, shared, integers):
        defines = {"X_T": _X_TYPES[self.x_dtype]} | defines
        launch = Launch(grid, threads, shared, integers, defines, text=self.text, entry=self.entry)
        return Plan((launch,))


@dataclass(frozen=True, kw_only=True)
class PlainGemv(_Gemv):
    """A GEMV on unquantized weights: y = x Wᵀ. stages_x: it copies x to dynamic shared memory."""

    stages_x: bool = False
    threads: int = _THREADS
    threads_per_output: int = WARP_SIZE

    takes_nbits = is_packed = False

    def shape(self, x, W, N):
        """(M, N, K); W is (N, K) with the dtype of x."""
        check_matrix("x", x, self.x_dtype)
        check_matrix("W", W, self.x_dtype)
        self._check_columns(x, W, x.shape[1], "weights")
        self._check_not_ternary(N, None)
        return x.shape[0], *W.shape

    def tensors(self, shape, x, W, scales, zeros, token_scales):
        """{"x", "W"}; there are no scales and zeros."""
        self._check_not_ternary(None, token_scales)
        if scales is not None or zeros is not None:
            raise ValueError(f"{self.name} takes unquantized weights: leave scales and zeros out")
        return {"x": x.contiguous(), "W": W.contiguous()}

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N); ValueError if x is too long for a block's shared memory."""
        K = K or 1
        shared, limit = K * self.x_dtype.itemsize * self.stages_x, machine.shared_bytes_per_block
        if shared > limit:
            raise ValueError(
                f"x of K = {K} takes {shared} bytes of shared memory, and a block of compute "
                f"capability {machine.named} has {limit}: split K over calls"
            )
        grid = (-(-N * self.threads_per_output // self.threads), M)
        return self._plan_of_one({}, grid, self.threads, shared, (N, K))


@dataclass(frozen=True, kw_only=True)
class PackedGemv(_Gemv):
    """A GEMV on packed weights with scales and zeros, around the skeleton gemv.cuh.

    make_layout: a layout class of `packing`; it takes the width if the kernel supports any width.
    """

    make_layout: Callable
    x_dtypes: tuple[torch.dtype, ...] = Spec.x_dtypes  # type: ignore[misc]

    @property
    def takes_nbits(self):
        """True if the caller chooses the width of the codes."""
        return self.make_layout is WarpInterleaved

    @property
    def y_dtype(self):
        """The dtype of y: int32 for int8 x, else the dtype of x."""
        return torch.int32 if self.x_dtype == torch.int8 else self.x_dtype

    def layout(self, K):
        """The layout of the packed words, which is the same for every K."""
        return self.make_layout(self.nbits) if self.takes_nbits else self.make_layout()

    def with_texts(self, texts):
        """This spec; KernelTextError if a text ignores that a word may hold several groups."""
        if self.group_size is None:
            if "scaled_dot" in texts:
                raise ValueError("scaled_dot is for scales in groups: load with a group_size")
            return self
        text = holes.without_comments(texts.get("dequant_dot", "CODES_PER_GROUP"))
        layout = self.layout(None)
        codes = codes_per_group(layout, self.group_size)
        is_whole_word = codes == codes_per_group(layout, None)
        if not ("CODES_PER_GROUP" in text or "scaled_dot" in texts or is_whole_word):
            raise KernelTextError(
                f"with group_size = {self.group_size} dequant_dot is called with {codes} codes at "
                "a time, which share a group: let its loop end at CODES_PER_GROUP"
            )
        return self

    def shape(self, x, W, N):
        """(M, N, K); W holds the words of N rows."""
        check_matrix("x", x, self.x_dtype)
        check_matrix("W", W, torch.int32)
        self._check_not_ternary(N, None)
        (M, K), N, layout = x.shape, len(W), self.layout(x.shape[1])
        self._check_columns(x, W, layout.packed_shape(N, K)[1], f"{layout.nbits}-bit words")
        return M, N, K

    def tensors(self, shape, x, W, scales, zeros, token_scales):
        """{"x", "W", "scales", "zeros"}, with scales and zeros (N, groups)."""
        self._check_not_ternary(None, token_scales)
        _, N, K = shape
        tensors = {"x": x.contiguous(), "W": W.contiguous()}
        return tensors | self._scales_and_zeros(scales, zeros, N, K, x.device)

    def _scales_and_zeros(self, scales, zeros, N, K, device):
        group_size = self.group_size or K
        check_group_size(group_size, K)
        shape, is_integer = (N, K // group_size), self.x_dtype == torch.int8
        dtype = torch.int32 if is_integer else torch.float32
        scales = 1 if is_integer and scales is None else scales
        given, found = {"scales": scales, "zeros": zeros}, {}
        for name, value in given.items():
            if value is None:
                shapes = " or ".join(dict.fromkeys((str(shape), f"({N}, 1)")))
                raise TypeError(f"{self.name} needs {name}: a number, or {str(dtype)[6:]} {shapes}")
            found[name] = per_group(name, value, shape, dtype, device)
        if is_integer:
            check_int32_range(K, self.nbits, **given)
        return found

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N), for any K and any machine; K defaults to one group."""
        K = K or self.group_size or 1
        layout, rows = self.layout(K), rows_in_one_pass(M)
        bytes_of_a_tile = rows * self.x_dtype.itemsize * layout.tile
        most_tiles = SHARED_BYTES_WITHOUT_OPT_IN // bytes_of_a_tile
        tiles_staged = min(most_tiles, layout.padded_K(K) // layout.tile)
        defines = {
            "ROWS": rows,
            "GROUP_SIZE": self.group_size or WHOLE_ROW,
            "CODES_PER_GROUP": codes_per_group(layout, self.group_size),
        }
        if self.takes_nbits:
            defines["W_NBITS"] = self.nbits
        grid = (-(-N * WARP_SIZE // _THREADS), -(-M // rows))
        integers = (M, N, K, K // (self.group_size or K), tiles_staged)
        return self._plan_of_one(defines, grid, _THREADS, tiles_staged * bytes_of_a_tile, integers)

    def notes(self, launch):
        """Warn that a report counts loads of scales which a GPU's compiler shares between rows."""
        is_shared = self.group_size is not None and launch.defines["ROWS"] > 1
        return (_SHARED_BY_ROWS,) if is_shared else ()


_INT8 = (torch.int8,)

KERNELS = {
    spec.name: spec
    for spec in (
        PlainGemv(name="gemv_a16w16_naive", threads=256, threads_per_output=1),
        PlainGemv(name="gemv_a16w16_coalesced"),
        PlainGemv(name="gemv_a16w16_warp"),
        PlainGemv(name="gemv_a16w16_shared", stages_x=True),
        PackedGemv(name="gemv_a16wn_fp32", make_layout=WarpInterleaved),
        PackedGemv(name="gemv_a16wn_float4", make_layout=WarpInterleaved),
        PackedGemv(name="gemv_a16wn_half2", make_layout=WarpInterleaved, x_dtypes=(torch.float16,)),
        PackedGemv(name="gemv_a8wn_int32", make_layout=WarpInterleaved, x_dtypes=_INT8),
        PackedGemv(name="gemv_a8wn_dp4a", make_layout=WarpInterleaved, x_dtypes=_INT8),
        PackedGemv(name="gemv_a16w3_planes", make_layout=BitPlanes3),
        PackedGemv(name="gemv_a16w7_sparse", make_layout=Sparse1in2),
    )
}
