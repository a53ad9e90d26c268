"""half2 in the shim: each half by itself, a multiply-add rounded once, one access for both."""

from fractions import Fraction

import pytest
import torch

EVERY_HALF = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.float16)


def compute(launch, expression, a, b, c=None):
    """expression of half2 a, b, c at every place of the tensors, two halves at once."""
    text = f"""
    #include <cuda_fp16.h>
    __global__ void kernel(const half2* a_in, const half2* b_in, const half2* c_in, half2* out,
                           int n) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      const half2 a = a_in[i], b = b_in[i], c = c_in[i];
      out[i] = {expression};
    }}"""
    out = torch.zeros_like(a)
    inputs = {"a": a.clone(), "b": b.clone(), "c": (a if c is None else c).clone()}
    pairs = a.numel() // 2
    return launch(text, {"out": out}, inputs, [pairs], grid=(-(-pairs // 256), 1), threads=256)


def random_halves(count, seed):
    generator = torch.Generator().manual_seed(seed)
    bits = torch.randint(-(2**15), 2**15, (count,), generator=generator).to(torch.int16)
    return bits.view(torch.float16)


def same(a, b):
    return bool(((a.isnan() & b.isnan()) | (a.view(torch.int16) == b.view(torch.int16))).all())


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("__hadd2(a, b)", lambda a, b: a.double() + b.double()),
        ("__hsub2(a, b)", lambda a, b: a.double() - b.double()),
        ("__hmul2(a, b)", lambda a, b: a.double() * b.double()),
        ("a + b", lambda a, b: a.double() + b.double()),
        ("a - b", lambda a, b: a.double() - b.double()),
        ("a * b", lambda a, b: a.double() * b.double()),
        ("__h2div(a, b)", lambda a, b: a.double() / b.double()),
        ("a / b", lambda a, b: a.double() / b.double()),
        ("__hneg2(a)", lambda a, b: -a.double()),
        ("-a", lambda a, b: -a.double()),
        ("__halves2half2(__hdiv(a.x, b.x), __hneg(a.y))", lambda a, b: _divided_and_negated(a, b)),
    ],
)
def test_each_half_by_itself(launch, expression, expected):
    a, b = random_halves(2**14, 0), random_halves(2**14, 1)
    assert same(compute(launch, expression, a, b), expected(a, b).to(torch.float16))


def _divided_and_negated(a, b):
    out = -a.double()
    out[::2] = a.double()[::2] / b.double()[::2]
    return out


def rounded_once(a, b, c):
    """a * b + c as a half, from exact fractions; finite operands, finite result."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    near = torch.tensor(float(exact)).to(torch.float16)
    bits = int(near.view(torch.int16))
    around = torch.tensor([[bits - 1], [bits], [bits + 1]], dtype=torch.int32).to(torch.int16)
    halves = [x.view(torch.float16) for x in around]
    halves = [h for h in halves if h.isfinite().all()]
    distance = [abs(Fraction(float(h)) - exact) for h in halves]
    best = min(distance)
    ties = [h for h, d in zip(halves, distance, strict=True) if d == best]
    return next((h for h in ties if int(h.view(torch.int16)) % 2 == 0), ties[0])


def test_a_multiply_add_is_rounded_once(launch):
    """Random operands, and sums that a second rounding would spoil."""
    generator = torch.Generator().manual_seed(2)
    a, b = (torch.randn(1024, generator=generator).half() for _ in range(2))
    c = (torch.randn(1024, generator=generator) * 4).half()
    # The product is 2**-31 less than half a step of c: a float forgets that, and sees a middle.
    a[:512] = 1 + 2.0**-10
    b[:512] = (1 - 2.0**-10) * 2.0**-11 * (1 - 2 * (torch.arange(512) % 2))
    c[:512] = 1 + (torch.arange(512) + 1) * 2.0**-10
    values = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    expected = [rounded_once(*each) for each in values]
    out = compute(launch, "__hfma2(a, b, c)", a, b, c)
    assert same(out, torch.cat(expected))
    twice = (a.float() * b.float() + c.float()).half()
    assert (out != twice).sum() > 200


def test_a_multiply_add_of_the_largest_and_of_no_number(launch):
    a = torch.tensor([65504.0, 65504.0, torch.inf, torch.nan, 0.0, 2.0**-24, 1.0, -1.0]).half()
    b = torch.tensor([1.0, 2.0, 0.0, 1.0, -1.0, 0.5, 65504.0, 1.0]).half()
    c = torch.tensor([0.0, -65504.0, 1.0, 1.0, 0.0, 0.0, 65504.0, 1.0]).half()
    out = compute(launch, "__hfma2(a, b, c)", a, b, c).tolist()
    assert out[:2] == [65504.0, 65504.0]
    assert out[2] != out[2] and out[3] != out[3]
    assert out[4:] == [0.0, 0.0, float("inf"), 0.0]


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("__halves2half2(__high2half(a), __low2half(a))", lambda a, b: a.flip(1)),
        ("make_half2(a.y, b.x)", lambda a, b: torch.stack([a[:, 1], b[:, 0]], 1)),
        ("__half2half2(a.y)", lambda a, b: a[:, 1:].expand(-1, 2)),
        ("__float2half2_rn(__low2float(a))", lambda a, b: a[:, :1].expand(-1, 2)),
        ("__floats2half2_rn(__high2float(b), 1.0f)", lambda a, b: _with_one(b)),
        ("__float22half2_rn(__half22float2(a))", lambda a, b: a),
        ("__lows2half2(a, b)", lambda a, b: torch.stack([a[:, 0], b[:, 0]], 1)),
        ("__highs2half2(a, b)", lambda a, b: torch.stack([a[:, 1], b[:, 1]], 1)),
        ("__low2half2(a)", lambda a, b: a[:, :1].expand(-1, 2)),
        ("__high2half2(a)", lambda a, b: a[:, 1:].expand(-1, 2)),
        (
            "__halves2half2(__short_as_half(__half_as_short(a.x)), b.y)",
            lambda a, b: torch.stack([a[:, 0], b[:, 1]], 1),
        ),
        ("make_half2(__short2half_rn(-3), __ushort2half_rn(65535))", lambda a, b: _of_shorts(a)),
    ],
)
def test_the_ways_in_and_out(launch, expression, expected):
    a, b = EVERY_HALF[:4096].reshape(-1, 2), EVERY_HALF[-4096:].reshape(-1, 2)
    out = compute(launch, expression, a.contiguous(), b.contiguous())
    assert same(out, expected(a, b).contiguous())


def _with_one(b):
    return torch.stack([b[:, 1], torch.ones(len(b), dtype=torch.float16)], 1)


def _of_shorts(a):
    return torch.tensor([-3.0, torch.inf], dtype=torch.float16).expand(len(a), 2)


def test_both_halves_are_one_access(inspect):
    x, y = torch.ones(128, dtype=torch.float16), torch.zeros(128, dtype=torch.float16)
    body = (
        "reinterpret_cast<half2*>(y)[t] = __hadd2(reinterpret_cast<const half2*>(x)[t], "
        "reinterpret_cast<const half2*>(x)[t]);"
    )
    report, _ = inspect(body, x=x, y=y, threads=64)
    assert report.total("global", "store") == (2, 8)
    assert torch.equal(report.y, torch.full((128,), 2.0).half())
