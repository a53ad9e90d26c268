"""The shim's half and __nv_bfloat16 against torch's conversions: every value, every tie."""

import pytest
import torch

TYPES = {
    "half": (torch.float16, "cuda_fp16.h"),
    "__nv_bfloat16": (torch.bfloat16, "cuda_bf16.h"),
}
CASES = pytest.mark.parametrize("name", TYPES)


def every_value(dtype):
    return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)


def run(launch, name, expression, inputs, out):
    _, header = TYPES[name]
    kinds = {torch.float32: "float", torch.float16: name, torch.bfloat16: name}
    parameters = ", ".join(f"const {kinds[t.dtype]}* {k}" for k, t in inputs.items())
    text = f"""
    #include <{header}>
    __global__ void kernel({parameters}, {kinds[out.dtype]}* out, int n) {{
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) out[i] = {expression};
    }}"""
    grid = (-(-out.numel() // 1024), 1)
    return launch(text, {"out": out}, inputs, [out.numel()], grid=grid, threads=1024)


def same_bits(a, b):
    kind = torch.int16 if a.dtype.itemsize == 2 else torch.int32
    both_nan = a.isnan() & b.isnan()
    return bool((both_nan | (a.view(kind) == b.view(kind))).all())


@CASES
def test_every_value_converts_to_float(launch, name):
    values = every_value(TYPES[name][0])
    out = run(launch, name, "x[i]", {"x": values}, torch.zeros(len(values)))
    assert same_bits(out, values.float())


@CASES
def test_every_value_every_tie_and_the_floats_beside_them_round_as_in_torch(launch, name):
    dtype = TYPES[name][0]
    finite = every_value(dtype).float()
    finite = finite[finite.isfinite()].sort().values
    overflow = torch.tensor([65519.0, 65520.0, 65536.0, 3.4e38, torch.inf, -torch.inf, torch.nan])
    middles = ((finite[1:].double() + finite[:-1].double()) / 2).float()
    exact = torch.cat([finite, middles, overflow, -overflow])
    infinity = torch.tensor(torch.inf)
    floats = torch.cat([exact, exact.nextafter(infinity), exact.nextafter(-infinity)])
    out = run(launch, name, "x[i]", {"x": floats}, torch.zeros(len(floats), dtype=dtype))
    assert same_bits(out, floats.to(dtype))


@CASES
@pytest.mark.parametrize("operator", ["+", "-", "*", "/"])
def test_arithmetic_rounds_once_to_nearest_even(launch, name, operator):
    dtype = TYPES[name][0]
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**15), 2**15, (2, 2**16), generator=generator)
    a, b = bits.to(torch.int16).view(dtype)
    expected = eval(f"(a.double() {operator} b.double())").to(dtype)
    inputs = {"a": a.clone(), "b": b.clone()}
    out = run(launch, name, f"a[i] {operator} b[i]", inputs, torch.zeros(2**16, dtype=dtype))
    assert same_bits(out, expected)


def test_bits_become_a_half_and_come_back(launch):
    halves = every_value(torch.float16)
    expression = "__ushort_as_half(__half_as_ushort(x[i]) ^ 0x8000)"
    out = run(launch, "half", expression, {"x": halves}, torch.zeros_like(halves))
    assert torch.equal(out.view(torch.int16), halves.view(torch.int16) ^ -(2**15))


@pytest.mark.parametrize(
    "expression, first", [("__int2half_rn(3 * i - 98304)", -98304), ("__uint2half_rn(3u * i)", 0)]
)
def test_integers_round_to_halves(launch, expression, first):
    expected = (3 * torch.arange(2**16) + first).double().half()
    out = run(launch, "half", expression, {"x": expected}, torch.zeros_like(expected))
    assert same_bits(out, expected)
