"""`refuse_single_products`: whether an answer takes its products four at a time with __dp4a.

The answer runs once more, on a small W and on x of which the sum is 0 in every word. So neither the
zero-point nor anything else that is taken from all codes of a word changes y, and an answer may add
up x as it likes. Two rows of W are probed:

- Row `_DOUBLED` is a copy of the row before it, and each call adds its products twice there. Its y
  is twice that of the other row if all products come from calls whose results are used, or differs
  from that by one number for all tokens: an answer that adds 128 to x takes it away at the end.
- Row `_COUNTED` has the code 1 everywhere. Its calls are counted, and so are their products with
  an x, neighbours alike only once. A call makes as many as it can, but for the last of a word.
"""

import torch

from gemlite_edu.packing import WarpInterleaved, pack_warped_int32
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.exercise import CheckFailed

_DOUBLED, _COUNTED = 33, 34  # no row of a case has these numbers
_TILES = 2
_LEAST_X = 63
_LEAST_BYTE = 48  # of x and of x + 128; no number that only fills a byte of a call is as large
_CALLS, _PRODUCTS = "calls_of_dp4a", "products_of_dp4a"
# The stores to shared memory are what the simulator's report counts.
_PROBED_CALLS = f"""
__device__ inline unsigned bytes_for_dp4a(int bytes) {{ return bytes; }}
__device__ inline unsigned bytes_for_dp4a(unsigned bytes) {{ return bytes; }}
__device__ inline unsigned bytes_for_dp4a(uchar4 four) {{
  return four.x | four.y << 8 | four.z << 16 | static_cast<unsigned>(four.w) << 24;
}}
__device__ inline unsigned bytes_for_dp4a(char4 four) {{
  return (four.x & 255) | (four.y & 255) << 8 | (four.z & 255) << 16 | (four.w & 255u) << 24;
}}
__device__ inline bool holds_x_for_dp4a(unsigned byte) {{
  return byte >= {_LEAST_BYTE} && byte <= 256 - {_LEAST_BYTE};
}}
__device__ __noinline__ void count_for_dp4a(unsigned a, unsigned b) {{
  __shared__ char {_CALLS}[32], {_PRODUCTS}[32];
  const int lane = threadIdx.x % 32;
  unsigned before = 0;
  for (bool is_first = true; a && b; a >>= 8, b >>= 8) {{
    const unsigned one = a & 255, other = b & 255, both = one << 8 | other;
    if (!one || !other || !(holds_x_for_dp4a(one) || holds_x_for_dp4a(other))) continue;
    if (is_first) {_CALLS}[lane] = 1;
    if (both != before) {_PRODUCTS}[lane] = 1;
    before = both, is_first = false;
  }}
}}
template <typename A, typename B, typename C>
__device__ __noinline__ auto probed_dp4a(A a, B b, C c) -> decltype(__dp4a(a, b, c)) {{
  const int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (n == {_COUNTED}) count_for_dp4a(bytes_for_dp4a(a), bytes_for_dp4a(b));
  return n == {_DOUBLED} ? __dp4a(a, b, __dp4a(a, b, c)) : __dp4a(a, b, c);
}}
#define __dp4a probed_dp4a
"""


def with_probes(begin):
    """change(source) for a kernel whose answer begins with the text `begin`."""
    return lambda source: source.replace(begin, _PROBED_CALLS + begin)


def without_probes(message):
    """A compiler's message, in the words of the answer."""
    return message.replace("probed_dp4a", "__dp4a")


def refuse_single_products(kernel, case):
    """Raise CheckFailed if an answer that is right on this case does not use __dp4a as asked.

    kernel: the answer `with_probes`.
    """
    nbits, layout = case.nbits, WarpInterleaved(case.nbits)
    generator = torch.Generator().manual_seed(0)
    W_q = torch.randint(0, 2**nbits, (_COUNTED + 1, _TILES * layout.tile), generator=generator)
    W_q[_DOUBLED], W_q[_COUNTED] = W_q[_DOUBLED - 1], 1
    x = _x_of_sum_0(len(case.x), layout, generator)
    scales, zeros = torch.ones(2, len(W_q), 1, dtype=torch.int32)
    zeros[_COUNTED] = 0
    report = kernel.inspect(x, pack_warped_int32(W_q.to(torch.uint8), nbits), scales, zeros)
    report.raise_findings()
    once, twice = report.y[:, _DOUBLED - 1].long(), report.y[:, _DOUBLED].long()
    calls, products = _count(report, _CALLS), _count(report, _PRODUCTS)
    more = twice - 2 * once  # of each token
    fields = layout.pack_factor // 2 * 2  # of an odd number, one x has no byte that tells
    if torch.equal(once, twice):
        how = "multiplies one by one"
    elif not torch.equal(more, more[:1].expand_as(more)):
        how = "multiplies some of the codes one by one"
    elif not calls:
        how = "a call of __dp4a makes none of its 4 products on average"
    elif products * -(-layout.pack_factor // 4) < fields * calls:
        how = f"a call of __dp4a makes {products / calls:.2g} of its 4 products on average"
    else:
        return
    raise CheckFailed(
        f"dequant_dot_dp4a has the right numbers on {case.label}, but {how}: "
        "take four products at a time with __dp4a(four_x, four_codes, sum)"
    )


def _x_of_sum_0(tokens, layout, generator):
    """x (tokens, K) int8: large numbers, of which those that one word meets differ and add up to 0.

    Two words have them in different orders.
    """
    count = layout.pack_factor
    odd_ones = torch.tensor([_LEAST_X, _LEAST_X + 1, -2 * _LEAST_X - 1][: 3 * (count % 2)])
    half = _LEAST_X + 2 + torch.arange((count - len(odd_ones)) // 2)
    values = torch.cat([odd_ones, half, -half])
    order = torch.rand(tokens, _TILES, WARP_SIZE, count, generator=generator).argsort(-1)
    return values[order].transpose(2, 3).reshape(tokens, -1).to(torch.int8)


def _count(report, name):
    return sum(line.lanes for line in report.lines if line.name == name)
