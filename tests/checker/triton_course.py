"""What a course on Triton teaches: each function uses words that an answer may use."""

import triton
import triton.language as tl


def softmax(x_ptr, y_ptr, stride, N, BLOCK: tl.constexpr):
    """A docstring."""
    row = tl.program_id(axis=0)
    at = tl.arange(0, BLOCK)
    inside = (at >= 0) & ~(at >= N)
    x = tl.load(x_ptr + row * stride + at, mask=inside, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * stride + at, e / tl.sum(e, axis=0), mask=inside)


def grouped_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K: tl.int32, BM: tl.constexpr, BN: "tl.constexpr", ACT: tl.constexpr
):
    pid = tl.program_id(0)
    tiles_m, tiles_n = triton.cdiv(M, BM), tl.cdiv(N, BN)
    group_size = min(tiles_m - pid // tiles_n, 8)
    tl.assume(group_size > 0)
    offsets = tl.max_contiguous(tl.multiple_of(pid * BM + tl.arange(0, BM), BM), BM)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    TYPE: tl.constexpr = c_ptr.dtype.element_ty
    for k in tl.range(0, K, BM, num_stages=3):
        a = tl.load(a_ptr + offsets[:, None] + k, eviction_policy="evict_first" if ACT else "")
        b = tl.load(b_ptr + k.to(tl.int64) + tl.arange(0, BN)[None, :], cache_modifier=".cg")
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=tl.float32)
    if ACT is not None and not (M < 2 or N < 2):
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
    elif ACT is None:
        acc *= 2
    y = acc.to(TYPE)
    tl.static_assert(TYPE.primitive_bitwidth == 16, f"{TYPE} is no half")
    tl.device_print("acc", acc)
    print("pid: ", pid)
    assert pid >= 0, "a message"
    is_last = pid == 3 or M == 4
    return y if is_last else -y


def many(x, FLAG: tl.constexpr = True, N: tl.constexpr = None):
    shape: tl.constexpr = x.shape[0]
    pairs = (x, x.T, tl.trans(x, 1, 0), x.permute(1, 0)[:, :, None])
    a, (b, c) = x, (x + 1, x - 1)
    left, right = tl.split(x.reshape(shape, 2, 2))
    for i in tl.static_range(4):
        a += tl.math.exp2(b) ** i if FLAG else i
    for k in range(3):
        b += k
    for k in range(0, 4, 2):
        c += k
    while a.sum() < 3 and FLAG:
        a += 1
    x = tl.cast(a, tl.float16, bitcast=True) if a.dtype.is_int() else a.to(triton.language.float32)
    is_off = not FLAG
    return tl.join(tl.load(*pairs), len(x.shape) + int(2.0) + i, is_off)
