"""The Triton kernels in the interpreter, which shares its process with compiled ones."""

import itertools
import random
import shutil
from dataclasses import replace
from threading import Thread

import pytest
import torch
import triton
import triton.language as tl
from ahead_of_time import build
from pairwise import pairs
from triton_cases import (
    BF16,
    CASES,
    E4M3,
    E5M2,
    FACTORS,
    FP16,
    FP32,
    GEMMS,
    GEMVS,
    INT8,
    INT32,
    fp8_products,
    is_right,
    make_case,
    plain_example,
    poisoned,
    random_case,
    run,
    small_cases,
)
from triton_cases import example as example_of

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.kernels.triton import KERNELS
from gemlite_edu.numbers.weight_modes import ChannelScaleMode, WeightMode
from gemlite_edu.operators import triton_product
from gemlite_edu.operators.triton_product import Epilogue, dense, matmul
from gemlite_edu.operators.weight import PackedWeight
from gemlite_edu.packing.plane_tiles import PlaneTiles, pack_plane_tiles
from gemlite_edu.runners import triton as triton_kernels
from gemlite_edu.runners.triton import kernel

SMALL_CASES = [
    *small_cases(),
    *(example_of(name, K_and_group=(1280, 128), N=20) for name in KERNELS),  # a tile a group
    example_of("gemv_revsplitk", K_and_group=(1280, 256), N=20, chunks=3),  # two tiles a group
]
SHORT = {"K_and_group": (256, 64), "N": 20, "M": 2}
any_kernel = pytest.mark.parametrize("name", KERNELS)
_numbers = itertools.count()


def example(name, **changes):
    return example_of(name, **SHORT | changes)


@pytest.fixture
def watched(monkeypatch):
    """An access outside of the tensors of a kernel raises KernelFault."""

    def launch(*arguments, **options):
        triton_kernels.launch(*arguments, **options | {"watched": True})

    monkeypatch.setattr(triton_product, "launch", launch)


@pytest.mark.parametrize("case", SMALL_CASES, ids=str)
def test_it_gives_the_right_answer(case, watched):
    inputs = make_case(case)
    with poisoned():
        y = run(case, inputs)
    assert is_right(case, inputs, y)


def test_any_two_values_that_can_meet_do():
    met = {pair for case in CASES for pair in pairs(case)}
    choose = random.Random(7)
    others = {pair for _ in range(1000) for pair in pairs(random_case(choose))}
    assert len(others - met) < 0.002 * len(others)


@pytest.mark.parametrize("factor", FACTORS)
def test_every_value_of_a_factor_is_met(factor):
    assert set(FACTORS[factor]) <= {getattr(case, factor) for case in CASES}
    if factor in ("kernel", "weights", "x_dtype", "y_dtype", "mode", "channel_mode"):
        assert set(FACTORS[factor]) == {getattr(case, factor) for case in SMALL_CASES}


def test_every_code_of_every_width_is_drawn():
    drawn = {}
    for case in CASES:
        if case.is_packed and case.N * case.K <= 2**16:
            codes = make_case(case).product.codes.unique().tolist()
            drawn.setdefault(case.weights, set()).update(codes)
    assert drawn == {nbits: set(range(2**nbits)) for nbits in (8, 4, 3, 2, 1)}


@any_kernel
@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
def test_every_number_of_fp8_is_read_right(name, dtype):
    for y, expected in fp8_products(name, dtype, "cpu"):
        assert torch.equal(y, expected)


@any_kernel
@pytest.mark.parametrize("dtype", [BF16, FP16], ids=str)
def test_planted_products_are_not_lost(name, dtype):
    """The interpreter's own products of bf16 are off by 1e9."""
    case = plain_example(name, weights=dtype, x_dtype=dtype, y_dtype=FP32, K_and_group=(64, None))
    inputs = make_case(case)
    x = torch.tensor([1.5, -64.0, 2.0**-5, 0.0]).repeat(case.M, 16).to(dtype)
    y = run(case, replace(inputs, x=x))
    assert torch.equal(y.double(), x.double() @ inputs.product.codes.double().T)


@any_kernel
@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
def test_fp8_outputs_end_at_the_largest_number(name, dtype):
    case = plain_example(name, weights=FP16, x_dtype=FP16, y_dtype=dtype, bias=False)
    inputs = make_case(case)
    x = torch.full_like(inputs.x, 2.0**15)
    weight = inputs.weight
    weight = replace(weight, words=torch.ones_like(weight.words), channel_scales=None)
    y = run(case, replace(inputs, x=x, weight=weight, epilogue=Epilogue(dtype)))
    assert (y.float() == torch.finfo(dtype).max).all()


@any_kernel
@pytest.mark.parametrize("K_and_group", [(96, 48), (256, 64), (33, None)], ids=str)
@pytest.mark.parametrize("x_dtype", FACTORS["x_dtype"], ids=str)
def test_no_rows_are_no_rows(name, K_and_group, x_dtype):
    case = example(name, K_and_group=K_and_group)
    inputs = make_case(case)
    x = torch.empty(0, case.K).to(x_dtype)
    y = matmul(name, x, inputs.weight, case.config)
    assert y.shape == (0, case.N)
    assert y.dtype == (INT32 if x_dtype == INT8 else x_dtype)


@any_kernel
def test_two_runs_give_the_same_bits(name):
    case = example(name, data="random", zeros="fractions", y_dtype=FP32)
    inputs = make_case(case)
    assert torch.equal(run(case, inputs), run(case, inputs))


@any_kernel
def test_x_need_not_be_contiguous(name):
    case = example(name)
    inputs = make_case(case)
    wide = torch.cat([inputs.x, inputs.x + 1], dim=1)
    for x in (inputs.x.T.contiguous().T, wide[:, : case.K]):
        assert not x.is_contiguous()
        assert is_right(case, inputs, run(case, replace(inputs, x=x)))


@any_kernel
@pytest.mark.parametrize("weights, word_bits", [(8, 32), (4, 32), (2, 32), (1, 32), (8, 8), (1, 8)])
def test_the_largest_int8_sums_are_exact(name, weights, word_bits):
    """All products of one sign, with the zero farthest from the code that pack allows."""
    K, N, top = 1024, 3, 2**weights - 1
    layout = PlaneTiles(weights, K, None, word_bits)
    farthest = min(2**24 // (2 * layout.tile * 128), 2048)
    W_q = torch.full((N, K), top, dtype=torch.uint8)
    W_q[1, ::3] = 0
    zeros = torch.full((1, N), float(top - farthest))
    weight = PackedWeight(pack_plane_tiles(W_q, layout), layout, WeightMode.SHIFT, None, zeros)
    x = torch.full((2, K), -128, dtype=torch.int8)
    x[1, 1::2] = 127
    case = example(name)
    y = matmul(name, x, weight, case.config)
    assert torch.equal(y.double(), x.double() @ (W_q.double() - zeros.T.double()).T)


@pytest.mark.parametrize("mode", list(WeightMode))
@pytest.mark.parametrize("weights", [8, 4, 3, 2, 1])
@pytest.mark.parametrize("K_and_group", [(96, 48), (48, 16), (256, None)], ids=str)
def test_dense_weights_are_the_weights(weights, mode, K_and_group):
    case = example("gemm", weights=weights, mode=mode, word_bits=None, K_and_group=K_and_group)
    case = replace(case, channel_mode=ChannelScaleMode.WEIGHT)
    inputs = make_case(case)
    codes, zeros, scales = inputs.product.parts
    W = (codes - zeros) * scales * inputs.product.channel_scales[:, None]
    is_weight = case.layout.pad(torch.ones(1, case.K))[0] == 1
    with poisoned():
        assert torch.equal(dense(inputs.weight, FP32)[:, is_weight].double(), W)


@pytest.mark.parametrize(
    "make_x, error, words",
    [
        (lambda x: x[:, :64], ValueError, r"x must be a tensor \(M, 256\), got \(2, 64\)"),
        (lambda x: x[0], ValueError, r"got \(256,\)"),
        (lambda x: x.tolist(), ValueError, "got list"),
        (lambda x: x.float(), TypeError, "torch.float32"),
        (lambda x: x.to("meta"), ValueError, "x is on meta and the weight on cpu"),
    ],
)
def test_an_x_that_does_not_fit_is_named(make_x, error, words):
    inputs = make_case(example("gemm"))
    with pytest.raises(error, match=words):
        matmul("gemm", make_x(inputs.x), inputs.weight)


def test_a_kernel_that_is_not_there_is_named():
    inputs = make_case(example("gemm"))
    with pytest.raises(ValueError, match="no Triton kernel 'gemmm': there are gemv, "):
        matmul("gemmm", inputs.x, inputs.weight)


def language():
    """Everything that the interpreter might leave changed."""
    from triton.language import core, standard

    places = [tl, core, standard, tl.math, core.tensor, core.dtype, core.tensor_descriptor_base]
    return [dict(vars(place)) for place in places]


@any_kernel
def test_an_interpreted_launch_leaves_triton_as_it_was(name):
    from triton import knobs

    case = example(name)
    inputs = make_case(case)
    run(case, inputs)
    before, mode = language(), knobs.runtime.interpret
    run(case, inputs)
    run(case, inputs, replace={"unpack": shifted_and_masked})
    with pytest.raises(Exception, match="nothing_of_that_name"):
        run(case, inputs, replace={"unpack": of_an_unknown_name})
    assert language() == before
    assert knobs.runtime.interpret == mode


@any_kernel
def test_kernels_compile_before_and_after_an_interpreted_launch(name, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    case = example(name)
    inputs = make_case(case)
    assert "cubin" in build(replace(case, M=1), 80).asm
    assert is_right(case, inputs, run(case, inputs))
    assert "cubin" in build(replace(case, M=1), 90).asm
    assert is_right(case, inputs, run(case, inputs))


def test_kernels_of_both_modes_are_different_functions():
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    for name in KERNELS:
        assert isinstance(kernel(name, interpreted=True), InterpretedFunction)
        assert isinstance(kernel(name, interpreted=False), JITFunction)


def test_threads_take_turns():
    case = example("gemv", N=100)
    inputs = make_case(case)
    right = []

    def work():
        right.extend(is_right(case, inputs, run(case, inputs)) for _ in range(3))

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 9


def shifted_and_masked(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)


@triton.jit
def jitted(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)


def high_end_first(words, field: tl.constexpr, NBITS: tl.constexpr):
    last: tl.constexpr = words.dtype.primitive_bitwidth // NBITS - 1
    return (words >> (NBITS * (last - field))) & ((1 << NBITS) - 1)


def of_an_unknown_name(words, field: tl.constexpr, NBITS: tl.constexpr):
    return nothing_of_that_name(words)  # noqa: F821


@any_kernel
@pytest.mark.parametrize("weights", [8, 4, 3, 2, 1])
@pytest.mark.parametrize("function", [shifted_and_masked, jitted])
def test_a_right_replacement_is_right(name, weights, function):
    case = example(name, weights=weights)
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs, replace={"unpack": function}))


@any_kernel
@pytest.mark.parametrize("weights", [8, 4, 3, 2, 1])
def test_a_wrong_replacement_shows_and_then_is_gone(name, weights):
    case = example(name, weights=weights)
    inputs = make_case(case)
    assert not is_right(case, inputs, run(case, inputs, replace={"unpack": high_end_first}))
    assert is_right(case, inputs, run(case, inputs))


def test_a_replacement_does_not_see_what_is_around_it():
    one = 1

    def unpack(words, field: tl.constexpr, NBITS: tl.constexpr):
        return (words >> (NBITS * field)) & ((one << NBITS) - one)

    case = example("gemm")
    with pytest.raises(Exception, match="'one.*is not defined"):
        run(case, make_case(case), replace={"unpack": unpack})


def test_only_kernels_and_unpack_can_be_replaced():
    case = example("gemm")
    inputs = make_case(case)
    with pytest.raises(ValueError, match="'unpck' cannot be replaced: there are unpack, gemv,"):
        run(case, inputs, replace={"unpck": shifted_and_masked})


def own_gemv(
    x_ptr, W_ptr, high_ptr, scales_ptr, zeros_ptr, partial_ptr, M, N, K,
    NBITS: tl.constexpr, FIELDS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
    FMA: tl.constexpr, ATOMIC: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    m, chunk = tl.program_id(0) % M, tl.program_id(1)
    n = tl.program_id(0) // M * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(partial_ptr + (chunk * M + m) * N + n, n.to(tl.float32), mask=n < N)


def gemv_without_a_mask(
    x_ptr, W_ptr, high_ptr, scales_ptr, zeros_ptr, partial_ptr, M, N, K,
    NBITS: tl.constexpr, FIELDS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
    FMA: tl.constexpr, ATOMIC: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) // M * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(partial_ptr + n, n.to(tl.float32))


def gemv_that_reads_on(
    x_ptr, W_ptr, high_ptr, scales_ptr, zeros_ptr, partial_ptr, M, N, K,
    NBITS: tl.constexpr, FIELDS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
    FMA: tl.constexpr, ATOMIC: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    tl.load(x_ptr + M * K + tl.program_id(0))


def gemv_that_adds_before_the_start(
    x_ptr, W_ptr, high_ptr, scales_ptr, zeros_ptr, partial_ptr, M, N, K,
    NBITS: tl.constexpr, FIELDS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
    FMA: tl.constexpr, ATOMIC: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    tl.atomic_add(partial_ptr - 1, 1.0)


def gemv_of_pairs(
    x_ptr, W_ptr, high_ptr, scales_ptr, zeros_ptr, partial_ptr, M, N, K,
    NBITS: tl.constexpr, FIELDS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
    FMA: tl.constexpr, ATOMIC: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    m, chunk = tl.program_id(0) % M, tl.program_id(1)
    first = tl.program_id(0) // M * BLOCK_N
    even = first + 2 * tl.arange(0, BLOCK_N // 2)
    n = first + tl.arange(0, BLOCK_N)
    values = tl.interleave(even, even + 1).to(tl.float32)
    tl.store(partial_ptr + (chunk * M + m) * N + n, values, mask=n < N)


def test_functions_that_triton_wrote_in_triton_work_in_every_launch():
    """tl.interleave names a part of the interpreter, which must still be there the second time."""
    case = example("gemv", channel_mode=ChannelScaleMode.NONE, bias=False, chunks=1, y_dtype=FP32)
    inputs = make_case(case)
    for _ in range(2):
        y = run(case, inputs, replace={"gemv": gemv_of_pairs})
        assert torch.equal(y, torch.arange(case.N).float().expand(case.M, -1))


@pytest.mark.parametrize("function", [own_gemv, triton.jit(own_gemv)], ids=["python", "jitted"])
def test_a_whole_kernel_may_be_replaced(function):
    case = example("gemv", channel_mode=ChannelScaleMode.NONE, bias=False, chunks=1, y_dtype=FP32)
    inputs = make_case(case)
    y = run(case, inputs, replace={"gemv": function})
    assert torch.equal(y, torch.arange(case.N).float().expand(case.M, -1))
    assert is_right(case, inputs, run(case, inputs))


@pytest.mark.parametrize(
    "function, words",
    [
        (
            gemv_without_a_mask,
            r"program \(0, 0, 0\), `tl.store\(partial_ptr \+ n, .*`: writes outside of its "
            r"tensors: element 40 of partial_ptr, which has 40",
        ),
        (
            gemv_that_reads_on,
            r"`tl.load\(x_ptr .*`: reads .*: element 512 of x_ptr, which has 512",
        ),
        (gemv_that_adds_before_the_start, r"changes .*: element -1 of partial_ptr, which has 40"),
    ],
)
def test_an_access_outside_of_the_tensors_is_named(function, words):
    case = example("gemv", chunks=1)
    inputs = make_case(case)
    with pytest.raises(KernelFault, match=words):
        run(case, inputs, replace={"gemv": function})
    assert is_right(case, inputs, run(case, inputs))


MISTAKES = {
    "the group of the tile": (
        "tile_sum.py", "(tile * FIELDS + first) * DEPTH // GROUP", "tile * FIELDS * DEPTH // GROUP",
    ),
    "the group of the tile, in a GEMM": (
        "tile_dot.py", "(tile * FIELDS + field) * DEPTH // GROUP", "tile * FIELDS * DEPTH // GROUP",
    ),
    "the group of the chunk": (
        "tile_dot.py", "(tile * FIELDS + field) * DEPTH // GROUP", "field * DEPTH // GROUP",
    ),
    "the scales of the first row": (
        "tile_dot.py", "scales_ptr + group_index * N + n", "scales_ptr + group_index * N + n * 0",
    ),
    "the second tile's group is the first's": (
        "gemv_revsplitk.py", "row, tile + 1, N,", "row, tile, N,",
    ),
    "the shared group is the chunk's": (
        "gemv_revsplitk.py", "tile * TILE // GROUP", "first * TILE // GROUP",
    ),
    "no zeros": ("tile_dot.py", "weights = weights - zeros", "weights = weights"),
    "the zero taken away once": (
        "tile_sum.py", "products -= zeros * sum_x[None, :]", "products -= zeros",
    ),
    "the zero added": ("tile_dot.py", "weights - zeros", "weights + zeros"),
    "the fused zero added once": (
        "tile_sum.py", "scales + zeros * sum_x[None, :]", "scales + zeros",
    ),
    "sums of groups not begun again": (
        "tile_dot.py", "            products = tl.zeros(acc.shape, DOT_DTYPE)", "            pass",
    ),
    "third bits shifted by one": ("dequantize.py", "(words.dtype) << 2)", "(words.dtype) << 1)"),
    "the seeds' mask": ("dequantize.py", "& ((1 << NBITS) - 1)", "& (NBITS**2 - 1)"),
    "a field too far": (
        "dequantize.py", "words >> (NBITS * field)", "words >> (NBITS * (field + 1))",
    ),
    "the worth of the next field": (
        "dequantize.py", "1.0 / (1 << (NBITS * field))", "1.0 / (1 << (NBITS * (field + 1)))",
    ),
    "chunks one tile short": (
        "gemv.py", "first + tiles_of_a_chunk, tiles", "first + tiles_of_a_chunk - 1, tiles",
    ),
    "chunks one tile long": (
        "gemm_splitk.py", "first + tiles_of_a_chunk, tiles", "first + tiles_of_a_chunk + 1, tiles",
    ),
    "the last chunk reads on": (
        "gemm_splitk.py", "min(first + tiles_of_a_chunk, tiles)", "first + tiles_of_a_chunk",
    ),
    "the odd tile left out": (
        "gemv_revsplitk.py", "(last - first) % 2 == 1", "(last - first) % 2 == 2",
    ),
    "an odd number of tiles in a chunk": (
        "gemv_revsplitk.py",
        "tl.cdiv(tl.cdiv(tiles, 2), tl.num_programs(1)) * 2",
        "tiles // tl.num_programs(1)",
    ),
    "the first chunk left out": ("add_chunks.py", "_range(CHUNKS)", "_range(1, CHUNKS)"),
    "the token's scale by channel": (
        "finish.py", "token_scales_ptr + m", "token_scales_ptr + n",
    ),
    "the channel's scale by token": (
        "finish.py", "channel_scales_ptr + n", "channel_scales_ptr + m",
    ),
    "the bias by token": ("finish.py", "bias_ptr + n", "bias_ptr + m"),
    "x of the first rows": (
        "tile_dot.py", "tl.load(x_ptrs + (tile * FIELDS + field) * DEPTH)",
        "tl.load(x_ptrs + field * DEPTH)",
    ),
    "a row too many": ("gemm.py", "(m < M)[None, :]", "(m <= M)[None, :]"),
    "a row too few": ("gemm_splitk.py", "(m < M)[None, :]", "(m < M - 1)[None, :]"),
    "columns not masked": ("gemv.py", "n, sums, mask=n < N)", "n, sums, mask=n >= 0)"),
}  # fmt: skip
_USERS = {
    "gemv.py": ["gemv"],
    "gemv_revsplitk.py": ["gemv_revsplitk"],
    "gemm_splitk.py": ["gemm_splitk"],
    "gemm.py": ["gemm"],
    "tile_sum.py": GEMVS,
    "tile_dot.py": GEMMS,
    "add_chunks.py": [*GEMVS, "gemm_splitk"],
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_kernel_is_noticed(mistake, tmp_path, monkeypatch, watched):
    file, text, instead = MISTAKES[mistake]
    use_changed_kernels(file, text, instead, tmp_path, monkeypatch)
    users = _USERS.get(file, KERNELS)
    assert any(not right_or_refused(case) for case in SMALL_CASES if case.kernel in users)


def use_changed_kernels(file, text, instead, folder, monkeypatch):
    """Let `matmul` take its kernels from a copy in which `instead` stands for `text`."""
    shutil.copytree(triton_kernels.FOLDER, folder, dirs_exist_ok=True)
    before = (folder / file).read_text()
    assert text in before, f"{file} has no {text!r}"
    (folder / file).write_text(before.replace(text, instead))
    monkeypatch.setattr(triton_kernels, "FOLDER", folder)
    mode = f"with_a_mistake_{next(_numbers)}"

    def changed(name, interpreted):
        return getattr(triton_kernels._load(name, mode, interpreted), name)

    monkeypatch.setattr(triton_product, "kernel", changed)


def right_or_refused(case):
    """Whether a case is answered right; a fault of the kernel is an answer that is not."""
    inputs = make_case(case)
    try:
        with poisoned():
            return is_right(case, inputs, run(case, inputs))
    except KernelFault:
        return False
