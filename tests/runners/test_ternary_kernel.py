"""Ternary weights and int8 activations in the simulator: every case against int64, every error."""

import random
import re
from dataclasses import replace
from itertools import combinations, product

import pytest
import torch
from simulator.test_claims import claims_of, is_true
from ternary_cases import (
    BF16,
    CASES,
    COLUMN,
    FAST,
    FLAT,
    FP16,
    GEMM,
    GEMV,
    INT32,
    NUMBER,
    ORDINARY,
    SCALED,
    SUMS,
    VARIANTS,
    WIDE,
    Case,
    Inputs,
    gets_it_wrong,
    inspect,
    integers,
    is_right,
    laid_out,
    make_case,
    poison,
    run,
    sums_of,
    with_text,
)

from gemlite_edu import load, pack_bitnet_2bit
from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.kernels.ternary import blocks_of_gemm

LONGEST_K = (2**31 - 1) // 256 // 32 * 32
WITH_CODES = [GEMV, GEMM]  # kernels whose text has the hole four_codes
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v[1] or v[0])
every_kernel = pytest.mark.parametrize("name", [GEMV, GEMM, FAST])

_GEMV, *_FRAGMENTS, _FAST = VARIANTS
INSPECTED_CASES = [
    Case(_GEMV, M=1, N=5, K=33),
    Case(_GEMV, M=5, N=33, K=544, y_dtype=FP16),
    Case(_GEMV, M=9, N=17, K=2100),
    *(Case(fragment, M=5, N=33, K=544, y_dtype=FP16) for fragment in _FRAGMENTS),
    *(Case(fragment, M=65, N=100, K=1100) for fragment in _FRAGMENTS),
    Case(_FRAGMENTS[0], M=9, N=17, K=1600),
    Case(_FRAGMENTS[1], M=33, N=40, K=33, y_dtype=BF16),
    Case(_FRAGMENTS[2], M=20, N=70, K=200, capability=(7, 5)),
    Case(_FAST, M=17, N=33, K=544, y_dtype=FP16),
    Case(_FAST, M=65, N=100, K=1100),
]


def example(variant=VARIANTS[2], M=5, N=21, K=100, **changes):
    return Case(variant, M, N, K, **changes)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs))


@pytest.mark.parametrize("case", INSPECTED_CASES, ids=str)
def test_it_is_safe(case):
    assert inspect(case) == ((), True)


@pytest.mark.parametrize("factors", [SUMS, SCALED], ids=["sums", "scaled"])
def test_any_two_values_of_two_factors_meet(factors):
    is_scaled = "y_dtype" in factors
    cases = [case for case in CASES if (case.y_dtype != INT32) == is_scaled]
    for a, b in combinations(factors, 2):
        met = {(getattr(case, a), getattr(case, b)) for case in cases}
        assert {*product(factors[a], factors[b])} <= met, (a, b)


@pytest.mark.parametrize("variant", _FRAGMENTS, ids=lambda v: v[1])
def test_the_cases_know_every_kind_of_block(variant):
    sizes = (1, 8, 9, 32, 33, 64, 65, 128, 200, 1000, 9000, 40_000)
    tokens = int(variant[1].split("x")[0])
    kinds = {blocks_of_gemm(M, N, tokens)[:3] for M in sizes for N in sizes}
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    plans = [case.plan().product.defines for case in CASES if case.variant == variant]
    assert kinds <= {tuple(plan[name] for name in names) for plan in plans}


def test_the_cases_know_every_kind_of_gemv():
    plans = [case.plan().product.defines for case in CASES if case.kernel == GEMV]
    assert {plan["ROWS"] for plan in plans} == {1, 2, 4, 8}
    assert {plan["WARPS"] for plan in plans} == {4, 8, 16}


# Mistakes


def any_case(case):
    return case.y_dtype == INT32 and case.N <= 200


def of_many_rows(case):
    return any_case(case) and case.M > 64


def of_many_outputs(case):
    return any_case(case) and case.N > 64


def of_a_long_k(case):
    return any_case(case) and case.K > 4000


def scaled(case):
    return case.y_dtype != INT32 and case.form != NUMBER and min(case.M, case.N) > 1


# What a careless hand could do to a kernel: where it shows, the kernel, its text, the careless one.
MISTAKES = {
    "gemv, zero forgotten": (any_case, GEMV, "sums[j] -= 2 * sum_x;", ""),
    "gemv, half of x": (any_case, GEMV, "i < 4; ++i) sum_x", "i < 2; ++i) sum_x"),
    "gemv, the first row for all": (any_case, GEMV, "min(first_m + r, M - 1)", "first_m"),
    "gemv, one pass over the rows": (of_many_rows, GEMV, "= blockIdx.y * ROWS", "= 0"),
    "gemv, one step": (of_a_long_k, GEMV, "tile += WARPS *", "tile += 1024 * WARPS *"),
    "gemv, x of the first half": (any_case, GEMV, "TILE_K + place.k]", "TILE_K]"),
    "gemv, every other tile": (any_case, GEMV, "__shfl_xor_sync(FULL_WARP, sum, 8)", "0"),
    "gemv, lanes of other outputs": (any_case, GEMV, "FULL_WARP, sum, 2)", "FULL_WARP, sum, 1)"),
    "gemv, a warp left out": (of_a_long_k, GEMV, "w < WARPS;", "w < WARPS - 1;"),
    "gemv, the last output left out": (any_case, GEMV, "n >= N ||", "n >= N - 1 ||"),
    "gemv, the last row left out": (any_case, GEMV, "m + r >= M)", "m + r >= M - 1)"),
    "gemv, the order of the pieces": (any_case, GEMV, "piece % 2 * 4", "piece % 2 * 8"),
    "gemv, the first codes for all": (any_case, GEMV, "word >> 2 * i &", "word >> 0 * i &"),
    "gemv, the first token's scale": (scaled, GEMV, "token_scales[m] *", "token_scales[0] *"),
    "gemv, the first output's scale": (scaled, GEMV, "* scales[n]", "* scales[0]"),
    "gemm, a weight more": (any_case, GEMM, "+ 0x7E7E7E7E", "+ 0x7F7F7F7F"),
    "gemm, no sign": (any_case, GEMM, "^ 0x80808080", ""),
    "gemm, the last codes": (any_case, GEMM, "four_weights(words[j], 3)", "0x01010101"),
    "gemm, halves of a tile": (any_case, GEMM, "piece / 2 % 2 * 16", "piece / 4 * 16"),
    "gemm, bits of the neighbour": (any_case, GEMM, "& 0x03030303", "& 0x07070707"),
    "gemm, x beyond K": (any_case, GEMM, "m < p.M && k < p.K", "m < p.M"),
    "gemm, x beyond M": (any_case, GEMM, "m < p.M && k < p.K", "k < p.K"),
    "gemm, words beyond N": (any_case, GEMM, "band < num_bands && piece", "piece"),
    "gemm, the first rows for all": (of_many_rows, GEMM, "blockIdx.y) * BLOCK_M", "0)"),
    "gemm, the first outputs for all": (of_many_outputs, GEMM, "blockIdx.x) * BLOCK_N", "0)"),
    "gemm, no way around": (of_a_long_k, GEMM, "+ blockIdx.x) % num_steps", "+ blockIdx.x)"),
    "gemm, one step too few": (any_case, GEMM, "step < num_steps; ++step", "++step < num_steps;"),
    "gemm, a part of k for all warps": (any_case, GEMM, "/ (WARPS_M * WARPS_N)};", "* 0};"),
    "gemm, the sums of one part of k": (any_case, GEMM, "k < WARPS_K; ++k) sum", "k < 1; ++k) sum"),
    "gemm, the last output left out": (any_case, GEMM, "m < M && n < N", "m < M && n < N - 1"),
    "gemm, the last row left out": (any_case, GEMM, "m < M && n < N", "m < M - 1 && n < N"),
    "gemm, the first token's scale": (scaled, GEMM, "token_scales[m] *", "token_scales[0] *"),
    "gemm, the first output's scale": (scaled, GEMM, "* scales[n]", "* scales[0]"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_cases_notice_a_mistake(mistake):
    shows, name, right, wrong = mistake
    cases = [case for case in CASES if case.kernel == name and shows(case)]
    some = random.Random(0).sample(cases, min(5, len(cases)))
    assert any(gets_it_wrong(case, right, wrong) for case in some)


UNSAFE = {
    "gemv, no barrier": (GEMV, "__syncthreads();", "", "barrier|race|thread"),
    "gemm, no barrier": (GEMM, "__syncthreads();", "", "barrier|race|thread"),
    "gemm, two buffers": (GEMM, "BUFFERS = 3", "BUFFERS = 2", "copy|copies"),
    "gemm, a batch less waited for": (
        GEMM,
        "__pipeline_wait_prior(1)",
        "__pipeline_wait_prior(2)",
        "asynchronous copy.*has not delivered",
    ),
    "gemm, outputs beyond y": (GEMM, "m < M && n < N", "m < M", r"y\["),
}


@pytest.mark.parametrize("mistake", UNSAFE.values(), ids=UNSAFE.keys())
def test_an_inspection_finds_what_is_unsafe(mistake):
    name, right, wrong, told = mistake
    case = example((name, None), M=9, N=33, K=1600)
    report = with_text(case, right, wrong).inspect(**make_case(case).operands(case))
    sentences = "\n".join(map(str, report.findings))
    assert re.search(told, sentences), sentences


# What the headers claim

WHOLE_STEPS = [
    *(Case(variant, M=32, N=64, K=1024) for variant in VARIANTS),
    Case(_GEMV, M=1, N=32, K=512),
    Case(_FRAGMENTS[0], M=8, N=32, K=512),
    Case(_FRAGMENTS[1], M=128, N=128, K=512),
]


@pytest.mark.parametrize("case", WHOLE_STEPS, ids=str)
def test_the_claims_are_true(case):
    report = case.load().inspect(**make_case(case).operands(case))
    claims = claims_of(sources.expand(case.kernel))
    assert len(claims) >= 2
    for claim in claims:
        assert is_true(claim, report), f"{claim}\n{report}"


# Calls


@every_variant
@pytest.mark.parametrize("y_dtype", [INT32, FP16, BF16], ids=str)
def test_a_call_leaves_its_inputs_alone_and_repeats(variant, y_dtype):
    case = example(variant, y_dtype=y_dtype, scales=WIDE)
    operands = make_case(case).operands(case)
    before = {name: torch.as_tensor(value).clone() for name, value in operands.items()}
    kernel = case.load()
    assert torch.equal(kernel(**operands), kernel(**operands))
    assert all(torch.equal(torch.as_tensor(operands[name]), before[name]) for name in before)


@every_variant
def test_out_receives_the_result(variant):
    case = example(variant)
    inputs, out = make_case(case), poison(case)
    assert case.load()(**inputs.operands(case), out=out) is out
    assert is_right(case, inputs, out)


@every_variant
def test_a_kernel_may_be_called_with_one_shape_after_the_other(variant):
    kernel = load(*variant[:1], fragment=variant[1])
    for M, N, K in ((5, 21, 100), (1, 5, 1), (70, 33, 544), (0, 3, 40), (5, 21, 100)):
        case = example(variant, M, N, K)
        inputs = make_case(case)
        assert is_right(case, inputs, run(case, inputs, kernel=kernel))


@every_variant
@pytest.mark.parametrize("y_dtype", [INT32, FP16, BF16], ids=str)
def test_no_rows_give_no_rows_once_all_else_is_right(variant, y_dtype):
    case = example(variant, M=0, y_dtype=y_dtype)
    operands = make_case(case).operands(case)
    y = case.load()(**operands)
    assert (y.shape, y.dtype) == ((0, case.N), y_dtype)
    with pytest.raises(ValueError, match="N must be from 17"):
        case.load()(**operands | {"N": 16})


@every_variant
def test_without_N_all_rows_of_the_words_are_outputs(variant):
    case = example(variant, N=21, gives_N=False)
    inputs = make_case(case)
    y = run(case, inputs)
    assert y.shape == (5, 32) and is_right(case, inputs, y)
    assert torch.equal(y[:, 21:], -2 * inputs.x.int().sum(1, keepdim=True).expand(5, 11).int())


@every_variant
def test_what_fills_the_last_tiles_does_not_matter(variant):
    case = example(variant, N=21, K=100)
    inputs = make_case(case)
    generator = torch.Generator().manual_seed(1)
    codes = integers(0, 3, (32, 128), generator).to(torch.uint8)
    W_q = codes[:21, :100]
    inputs = replace(inputs, W_packed=pack_bitnet_2bit(codes), sums=sums_of(inputs.x, W_q))
    assert is_right(case, inputs, run(case, inputs))


@every_variant
def test_views_of_other_kinds_count_as_their_copies(variant):
    case = example(variant)
    inputs = make_case(case)
    one_row = inputs.x[:1].expand(5, -1)
    operands = inputs.operands(case) | {"x": one_row}
    assert torch.equal(case.load()(**operands), case.load()(**operands | {"x": one_row.clone()}))
    negated = torch._neg_view(inputs.x.clamp(min=-127))
    expected = replace(inputs, sums=-sums_of_words(inputs.x.clamp(min=-127), inputs, case))
    y = case.load()(**operands | {"x": negated})
    assert torch.equal(y.long(), expected.sums)


def sums_of_words(x, inputs, case):
    from gemlite_edu import unpack_bitnet_2bit

    return sums_of(x, unpack_bitnet_2bit(inputs.W_packed, case.N, case.K))


@every_kernel
def test_scales_may_have_any_form(name):
    case = example((name, None), y_dtype=FP16)
    operands = make_case(case).operands(case)
    x_and_W = {key: operands[key] for key in ("x", "W", "N")}
    kernel = case.load()

    def y(scales=None, token_scales=None):
        return kernel(**x_and_W, scales=scales, token_scales=token_scales)

    column = operands["scales"][:, None]
    assert torch.equal(y(column), y(column[:, 0]))
    assert torch.equal(y(column.expand(21, 2)[:, :1]), y(column))
    same = torch.full((21,), 0.75)
    assert all(torch.equal(y(s), y(same)) for s in (0.75, same[:1], same[:1, None], same[0]))
    assert torch.equal(y(2), y(2.0)) and torch.equal(y(), y(1.0, 1))
    assert torch.equal(y(token_scales=0.75), y(0.75))
    assert torch.equal(y(torch._neg_view(column)), -y(column))


@every_kernel
def test_the_default_type_of_torch_changes_nothing(name):
    case = example((name, None), y_dtype=FP16, form=NUMBER)
    inputs = make_case(case)
    for dtype in (torch.float64, BF16):
        torch.set_default_dtype(dtype)
        try:
            y = run(case, inputs)
        finally:
            torch.set_default_dtype(torch.float32)
        assert is_right(case, inputs, y)


def test_the_longest_sum_fits_into_int32_and_a_longer_one_is_refused():
    x = torch.full((1, LONGEST_K), -128, dtype=torch.int8)
    W_packed = torch.zeros(16, LONGEST_K // 16, dtype=torch.int32)  # weights of -2
    kernel = load(GEMV, time_limit=600)
    assert kernel(x, W_packed, N=1).item() == 256 * LONGEST_K
    longer = torch.zeros(1, LONGEST_K + 32, dtype=torch.int8)
    with pytest.raises(ValueError, match=f"K may be up to {LONGEST_K}, so that a sum fits"):
        kernel(longer, torch.zeros(16, LONGEST_K // 16 + 2, dtype=torch.int32))


@pytest.mark.parametrize("y_dtype", [FP16, BF16], ids=str)
@every_kernel
def test_sums_that_float32_cannot_hold_are_rounded_well(name, y_dtype):
    case = example((name, None), M=2, N=3, K=131_001, y_dtype=y_dtype)
    inputs, generator = make_case(case), torch.Generator().manual_seed(1)
    x = integers(-128, -120, (2, case.K), generator).to(torch.int8)
    codes = integers(0, 1, (3, case.K), generator).to(torch.uint8)
    inputs = replace(inputs, x=x, W_packed=pack_bitnet_2bit(codes), sums=sums_of(x, codes))
    assert (inputs.sums.float().long() != inputs.sums).any()
    assert is_right(case, inputs, run(case, inputs))


@every_kernel
def test_outputs_beyond_fp16_become_infinite(name):
    x = torch.full((2, 300), -128, dtype=torch.int8)
    W_packed = pack_bitnet_2bit(torch.tensor([[0], [3]], dtype=torch.uint8).expand(2, 300).clone())
    y = load(name, y_dtype=FP16)(x, W_packed, token_scales=torch.tensor([1.0, -1.0]), N=2)
    assert y.tolist() == [[torch.inf, -38400.0], [-torch.inf, 38400.0]]


@every_kernel
def test_what_is_no_number_stays_in_its_row_or_column(name):
    case = example((name, None), y_dtype=FP16)
    inputs = make_case(case)
    inputs.scales[3], inputs.token_scales[2] = torch.nan, torch.nan
    lost = torch.zeros(5, 21, dtype=torch.bool)
    lost[:, 3] = lost[2] = True
    assert torch.equal(run(case, inputs).isnan(), lost)


def test_out_may_lie_beside_an_operand_but_not_in_one():
    room = torch.zeros(3, 32, dtype=torch.int32)
    x = room.view(torch.int8)[:1, :32]
    W_packed = torch.zeros(16, 2, dtype=torch.int32)
    kernel = load(GEMV)
    assert kernel(x, W_packed, out=room[1:2, :16]).data_ptr() == room[1].data_ptr()
    with pytest.raises(ValueError, match="out shares its memory with x"):
        kernel(x, W_packed, out=room[:1, :16])


# Texts of one's own

OTHER_CODES = """
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int e = 0; e < 4; ++e) codes |= (word >> (8 * e + 2 * i) & 3u) << 8 * e;
  return codes;
}"""
ONE_STEP_AFTER_THE_OTHER = """
__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  for (int step = 0; step * BLOCK_K < p.K; ++step) {
    copy_step(p, shared, step);
    __pipeline_wait_prior(0);
    decode_step(shared, step);
    __syncthreads();
    multiply_step(shared, step, sums);
    __syncthreads();
  }
}"""


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v[0] in WITH_CODES], ids=str)
def test_your_codes_are_what_runs(variant):
    case = example(variant)
    inputs = make_case(case)
    mine = case.load(replace={"four_codes": OTHER_CODES})
    assert is_right(case, inputs, run(case, inputs, kernel=mine))
    wrong = case.load(replace={"four_codes": OTHER_CODES.replace("2 * i", "2 * e")})
    assert not is_right(case, inputs, run(case, inputs, kernel=wrong))
    assert "replaces four_codes" in repr(mine)


@pytest.mark.parametrize("variant, K", [*zip(_FRAGMENTS, [100, 1100, 2100], strict=True)], ids=str)
def test_your_steps_are_what_runs(variant, K):
    case = example(variant, M=33, N=70, K=K)
    inputs = make_case(case)
    mine = case.load(replace={"all_steps": ONE_STEP_AFTER_THE_OTHER})
    assert is_right(case, inputs, run(case, inputs, kernel=mine))
    assert inspect(case, mine) == ((), True)
    hasty = ONE_STEP_AFTER_THE_OTHER.replace("__pipeline_wait_prior(0)", "__pipeline_wait_prior(1)")
    findings, _ = inspect(case, case.load(replace={"all_steps": hasty}))
    assert "has not delivered" in findings[0].sentence


@pytest.mark.parametrize("name", WITH_CODES)
def test_a_text_that_does_not_compile_is_quoted_with_its_line(name):
    broken = OTHER_CODES.replace("return codes", "return code")
    with pytest.raises(KernelTextError, match=r"four_codes, line 4: .*\n +return code;"):
        load(name, replace={"four_codes": broken}, device="cpu")


def test_a_kernel_that_never_ends_is_stopped():
    endless = OTHER_CODES.replace("return", "for (volatile int i = 0;; i = i + 1) {}\n  return")
    kernel = load(GEMV, replace={"four_codes": endless}, time_limit=0.3)
    with pytest.raises(KernelFault, match=r"0\.3 s"):
        run(example(VARIANTS[0]), make_case(example(VARIANTS[0])), kernel=kernel)


# Loading


def test_a_kernel_says_what_it_is():
    kernel = load(GEMM, fragment="8x32x16", y_dtype=FP16, device="cpu")
    assert repr(kernel) == (
        f"Kernel({GEMM}, y_dtype=torch.float16, fragment=8x32x16, device='cpu')"
    )
    assert (load(GEMM).spec.fragment, load(GEMM).y_dtype) == ("16x16x16", INT32)
    assert (load(GEMV, nbits=2, x_dtype=torch.int8).spec.fragment, load(GEMV).y_dtype) == (
        None,
        INT32,
    )
    assert "// BEGIN HOLE all_steps" in load(GEMM).source


BAD_LOADS = {
    "a width": (dict(name=GEMV, nbits=4), f"{GEMV} has 2-bit weights.*leave nbits"),
    "a type of x": (dict(name=GEMM, x_dtype=FP16), f"{GEMM} has 2-bit weights.*int8 x"),
    "groups": (dict(name=GEMM, group_size=64), "without groups.*leave .*group_size out"),
    "y float32": (
        dict(name=GEMV, y_dtype=torch.float32),
        f"y_dtype must be one of torch.int32, .*bfloat16 for {GEMV}, got torch.float32",
    ),
    "y as a string": (dict(name=GEMM, y_dtype="half"), f"y_dtype .* for {GEMM}, got half"),
    "a fragment of the GEMV": (
        dict(name=GEMV, fragment="16x16x16"),
        f"{GEMV} multiplies without fragments: leave fragment out",
    ),
    "another fragment": (
        dict(name=GEMM, fragment="16x8x32"),
        r"fragment must be one of 8x32x16, 16x16x16, 32x8x16 \(tokens x outputs x k\), got '16x8",
    ),
    "a fragment as a tuple": (dict(name=GEMM, fragment=(16, 16, 16)), "fragment must be one of"),
    "a type of y elsewhere": (
        dict(name="gemv_a8wn_dp4a", nbits=2, y_dtype=INT32),
        "y_dtype and fragment are for ternary weights: not for gemv_a8wn_dp4a",
    ),
    "a fragment elsewhere": (
        dict(name="gemv_a16wn_fp32", nbits=2, fragment="16x16x16"),
        "y_dtype and fragment are for ternary weights: not for gemv_a16wn_fp32",
    ),
    "another hole": (
        dict(name=GEMV, replace={"all_steps": ONE_STEP_AFTER_THE_OTHER}),
        f"{GEMV} has no hole 'all_steps'; its holes are four_codes",
    ),
    "another name": (
        dict(name="gemm_a8w2"),
        f"no kernel 'gemm_a8w2' .did you mean gemm_a8w2_.*; there are .*{GEMV}, {GEMM}",
    ),
    "another device": (dict(name=GEMV, device="tpu"), "device must be .*tpu"),
    "no time": (dict(name=GEMM, time_limit=0), "time_limit must be seconds"),
}


@pytest.mark.parametrize("options, named", BAD_LOADS.values(), ids=BAD_LOADS.keys())
def test_bad_load_is_named_in_one_sentence(options, named):
    with pytest.raises(ValueError, match=named) as caught:
        load(**options)
    assert "\n" not in str(caught.value)


# Calls that are refused

M, N, K = 3, 21, 100
X = torch.ones(M, K, dtype=torch.int8)
W = pack_bitnet_2bit(torch.ones(N, K, dtype=torch.uint8))
ONES, TOKEN_ONES = torch.ones(N, 1), torch.ones(M, 1)

BAD_CALLS = {
    "x as a list": (dict(x=X.tolist()), TypeError, "x must be a torch.Tensor, got list"),
    "x float16": (dict(x=X.half()), TypeError, "x must be torch.int8, got torch.float16"),
    "x uint8": (dict(x=X.to(torch.uint8)), TypeError, "x must be torch.int8, got torch.uint8"),
    "x sparse": (dict(x=X.to_sparse()), TypeError, "x must be a dense tensor"),
    "x of rank 1": (dict(x=X[0]), ValueError, r"x must have shape \(M, K\), K >= 1, got \(100,\)"),
    "x of rank 3": (dict(x=X[None]), ValueError, r"x must have shape .*got \(1, 3, 100\)"),
    "x without K": (dict(x=X[:, :0]), ValueError, r"x must have shape .*got \(3, 0\)"),
    "x on meta": (dict(x=X.to("meta")), ValueError, "x is on meta: kernels take CPU and CUDA"),
    "W as it was": (
        dict(W=torch.ones(N, K, dtype=torch.uint8)),
        TypeError,
        "W must be torch.int32, got torch.uint8",
    ),
    "W as BitNet's bytes": (dict(W=W.view(torch.int8)), TypeError, "W must be torch.int32"),
    "W of rank 1": (dict(W=W[0]), ValueError, r"W must have shape .*got \(8,\)"),
    "no W": (dict(W=W[:0]), ValueError, r"W must have shape .*got \(0, 8\)"),
    "W of part of a tile": (
        dict(W=W[:21], N=21),
        ValueError,
        r"K = 100, .*\(N rounded up to 16, 8\) words of pack_bitnet_2bit, got \(21, 8\)",
    ),
    "K under W's": (dict(x=X[:, :96]), ValueError, r"K = 96, for which W must be .*16, 6\) words"),
    "K over W's": (
        dict(x=torch.ones(M, 129, dtype=torch.int8)),
        ValueError,
        r"K = 129, for which W must be .*16, 10\) words",
    ),
    "N too small": (dict(N=16), ValueError, "W has 32 rows, so N must be from 17 to 32, got 16"),
    "N too large": (dict(N=33), ValueError, "W has 32 rows, so N must be from 17 to 32, got 33"),
    "N as a float": (dict(N=21.0), ValueError, r"N must be from 17 to 32, got 21\.0"),
    "N True": (dict(W=W[:16], N=True), ValueError, "N must be from 1 to 16, got True"),
    "M too long": (
        dict(x=X[:1].expand(2**31, K)),
        ValueError,
        "M, N and K may be up to 2147418112, got 2147483648, 21 and 100",
    ),
    "N too long": (
        dict(W=W[:1].expand(2**31, 8), N=2**31),
        ValueError,
        "M, N and K may be up to 2147418112, got 3, 2147483648 and 100",
    ),
    "out as a list": (dict(out=[1]), TypeError, "out must be a torch.Tensor, got list"),
    "out of another shape": (
        dict(out=torch.empty(M, 32, dtype=INT32)),
        ValueError,
        r"out must be \(3, 21\) torch.int32 on cpu, got \(3, 32\)",
    ),
    "out of another type": (
        dict(out=torch.empty(M, N)),
        ValueError,
        r"out must be \(3, 21\) torch.int32 on cpu, got \(3, 21\) torch.float32",
    ),
    "out with gaps": (
        dict(out=torch.empty(M, 32, dtype=INT32)[:, :N]),
        ValueError,
        r"out must be contiguous, its strides are \(32, 1\)",
    ),
    "scales of a sum": (dict(scales=ONES), ValueError, "y is int32, the sum alone: load with y_dt"),
    "token_scales of a sum": (dict(token_scales=1.0), ValueError, "y is int32, the sum alone"),
}

BAD_SCALES = {
    "as a list": ([1.0], TypeError, r"{name} must be a number or a float32 tensor .*, got list"),
    "as a string": ("1", TypeError, r"{name} must be a number or a float32 tensor .*, got str"),
    "True": (True, TypeError, "{name} must be a number .*, got bool"),
    "float16": (ONES.half(), TypeError, r"{name} must be float32, got torch.float16: .*float\(\)"),
    "int32": (ONES.int(), TypeError, "{name} must be float32, got torch.int32"),
    "sparse": (ONES.to_sparse(), TypeError, "{name} must be float32, got torch.sparse_coo"),
    "elsewhere": (ONES.to("meta"), ValueError, "{name} is on meta and x on cpu: move one"),
    "of too few": (torch.ones(2), ValueError, r"{name} must be one number or .*, got \(2,\)"),
    "of a tile": (torch.ones(32, 1), ValueError, r"{name} must be .*\({size}, 1\), got \(32, 1\)"),
    "lying": (torch.ones(1, 32), ValueError, r"{name} must be .*\({size}, 1\), got \(1, 32\)"),
    "that require grad": (torch.ones(1).requires_grad_(), ValueError, "{name} requires grad"),
    "beyond float32": (1e300, ValueError, r"{name} must fit in float32, got 1e\+300"),
}


def assert_one_sentence(kernel, operands, error, named):
    with pytest.raises(error, match=named) as caught:
        kernel(**operands)
    assert "\n" not in str(caught.value)


@every_kernel
@pytest.mark.parametrize("changed, error, named", BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_bad_call_is_named_in_one_sentence(name, changed, error, named):
    operands = dict(x=X, W=W, N=N) | changed
    assert_one_sentence(load(name), operands, error, named)
    if "out" not in changed:
        assert_one_sentence(load(name).inspect, operands, error, named)


@pytest.mark.parametrize("argument, size", [("scales", N), ("token_scales", M)])
@every_kernel
@pytest.mark.parametrize("value, error, named", BAD_SCALES.values(), ids=BAD_SCALES.keys())
def test_bad_scales_are_named_in_one_sentence(name, argument, size, value, error, named):
    operands = {"x": X, "W": W, "N": N, argument: value}
    named = named.format(name=argument, size=size)
    assert_one_sentence(load(name, y_dtype=FP16), operands, error, named)


@every_kernel
def test_what_requires_grad_is_refused_unless_gradients_are_off(name):
    scales = torch.ones(N).requires_grad_()
    kernel = load(name, y_dtype=FP16)
    with pytest.raises(ValueError, match="scales requires grad and this kernel has no backward"):
        kernel(X, W, scales, N=N)
    with torch.no_grad():
        assert torch.equal(kernel(X, W, scales, N=N), kernel(X, W, N=N))


@every_kernel
def test_more_rows_than_a_launch_has_are_refused(name):
    rows = torch.zeros(1, 32, dtype=torch.int8).expand(2**31 - 2**16, 32)
    with pytest.raises(ValueError, match="x has M = 2147418112 rows, a launch takes .*: split"):
        load(name)(rows, W[:16, :2])


def test_nothing_is_inspected_without_rows():
    with pytest.raises(ValueError, match="x has no rows: there is nothing to inspect"):
        load(GEMV).inspect(X[:0], W)


def test_a_call_may_follow_one_that_failed():
    case = example()
    inputs, kernel = make_case(case), case.load()
    with pytest.raises(TypeError):
        kernel(inputs.x.float(), inputs.W_packed)
    assert is_right(case, inputs, run(case, inputs, kernel=kernel))


# The oracle of scaled products


@pytest.mark.parametrize("y_dtype", [FP16, BF16], ids=str)
@pytest.mark.parametrize("form", [FLAT, COLUMN])
@pytest.mark.parametrize("scales", [ORDINARY, WIDE])
def test_a_wrong_last_bit_is_noticed(y_dtype, form, scales):
    """Most of y has one right answer; the bound is no wider than float32's roundings."""
    case = example(M=65, N=100, K=1056, y_dtype=y_dtype, scales=scales, form=form)
    inputs = make_case(case)
    y = run(case, inputs)
    assert is_right(case, inputs, y)
    other = torch.nextafter(y, torch.full_like(y, torch.inf))
    changed = (other != y) & y.isfinite()
    assert changed.any()
    noticed = sum(
        not is_right(case, inputs, y.clone().index_put_(tuple(at), other[tuple(at)]))
        for at in changed.nonzero()[:200]
    )
    assert noticed >= 195


def test_wide_scales_leave_the_types_on_both_sides():
    for y_dtype in (FP16, BF16):
        exact = make_case(example(M=65, N=100, K=1056, y_dtype=y_dtype, scales=WIDE)).exact()
        assert exact.to(y_dtype).isinf().any()
        assert (exact.abs() < torch.finfo(y_dtype).tiny).any() or y_dtype == BF16


def test_cases_are_laid_out_as_they_say():
    matrix = torch.arange(15).reshape(5, 3)
    for memory in SUMS["memory"]:
        assert torch.equal(laid_out(matrix, memory), matrix)
    inputs = make_case(example(memory="unaligned"))
    assert isinstance(inputs, Inputs)
    assert inputs.operands(example(memory="unaligned"))["x"].data_ptr() % 16
