"""What a CUDA course teaches, each as a small piece of CUDA with the value that it must give.

A probe is an expression, or statements that set r; each runs in a block of 32 threads, t is the
thread. Its value is a number, or for each thread what a function of t gives. `box` is 32 ints of the
block's own in global memory, all 0; `x` has the floats 0, 1, ... 31.
"""

from typing import NamedTuple


class Probe(NamedTuple):
    code: str
    value: object

    def value_of(self, thread):
        return self.value(thread) if callable(self.value) else int(self.value)

    @property
    def statements(self):
        return self.code if ";" in self.code else f"r = {self.code};"


def is_(code):
    """A probe whose value is 1."""
    return Probe(code, 1)


BITS = [
    Probe("__popc(0xF0F0u)", 8),
    Probe("__popcll(0xFF00000000000001ull)", 9),
    Probe("__clz(1)", 31),
    Probe("__clzll(1ll)", 63),
    Probe("__ffs(8)", 4),
    Probe("__ffsll(1ll << 40)", 41),
    Probe("__brev(1u)", 1 << 31),
    is_("__brevll(1ull) == 1ull << 63"),
    Probe("__byte_perm(0x33221100, 0x77665544, 0x7520)", 0x77552200),
    Probe("__funnelshift_l(0x89ABCDEF, 0x01234567, 8)", 0x23456789),
    Probe("__funnelshift_r(0x89ABCDEF, 0x01234567, 8)", 0x6789ABCD),
    Probe("__funnelshift_lc(0x89ABCDEF, 0x01234567, 40)", 0x89ABCDEF),
    Probe("__funnelshift_rc(0x89ABCDEF, 0x01234567, 40)", 0x01234567),
    Probe("__fns(0x88u, 0, 2)", 7),
    is_("__float_as_uint(1.0f) == 0x3F800000u && __uint_as_float(0x3F800000u) == 1.0f"),
    is_("__float_as_int(-0.0f) == INT_MIN && __int_as_float(0x40000000) == 2.0f"),
    is_("__double_as_longlong(1.0) == 0x3FF0000000000000ll && __longlong_as_double(0) == 0.0"),
    is_("__hiloint2double(__double2hiint(2.5), __double2loint(2.5)) == 2.5"),
]
INTEGERS = [
    Probe("__mul24(-3, 5)", -15),
    Probe("__umul24(0x01000003u, 5u)", 15),
    Probe("__mulhi(1 << 30, -8)", -2),
    Probe("__umulhi(0x80000000u, 6u)", 3),
    Probe("__mul64hi(1ll << 62, 8ll)", 2),
    Probe("__umul64hi(1ull << 63, 6ull)", 3),
    Probe("__hadd(-3, 0)", -2),
    Probe("__rhadd(-3, 0)", -1),
    Probe("__uhadd(0xFFFFFFFFu, 0xFFFFFFFDu)", 0xFFFFFFFE),
    Probe("__sad(-3, 4, 5u)", 12),
    Probe("__usad(3u, 4u, 5u)", 6),
    Probe("__dp4a(0x01FF0203, 0x04050607, 100)", 132),
    Probe("__dp2a_lo(0x00020001, 0x04030201, 10)", 15),
    Probe("__dp2a_hi(0x00020001, 0x04030201, 10)", 21),
    Probe("__dp2a_lo(make_short2(-1, 2), make_char4(1, -2, 3, 4), 0)", -5),
    Probe("min(3, 2) + max(3, 2)", 5),
    Probe("umin(3u, 2u) + llmax(3ll, 2ll)", 5),
    Probe("abs(-3) + llabs(-4ll)", 7),
]
SIMD = [
    Probe("__vadd4(0x01FF7F80u, 0x01010101u)", 0x02008081),
    Probe("__vsub4(0x00010203u, 0x01010101u)", 0xFF000102),
    Probe("__vaddss4(0x7F800001u, 0x01FF0001u)", 0x7F800002),
    Probe("__vaddus4(0xFF010203u, 0x01010101u)", 0xFF020304),
    Probe("__vsubus2(0x00010005u, 0x00020003u)", 0x00000002),
    Probe("__vabsdiffu4(0x01050000u, 0x05010001u)", 0x04040001),
    Probe("__vabsdiffs2(0xFFFF0001u, 0x00010003u)", 0x00020002),
    Probe("__vcmpeq4(0x01020304u, 0x01000300u)", 0xFF00FF00),
    Probe("__vcmpgtu4(0x01020304u, 0x01000300u)", 0x00FF00FF),
    Probe("__vsetgts2(0xFFFF0001u, 0x00000000u)", 0x00000001),
    Probe("__vmaxs4(0xFF010203u, 0x01000300u)", 0x01010303),
    Probe("__vminu4(0xFF010203u, 0x01000300u)", 0x01000200),
    Probe("__vavgu4(0x01020304u, 0x02020202u)", 0x02020303),
    Probe("__vhaddu4(0x01020304u, 0x02020202u)", 0x01020203),
    Probe("__vsadu4(0x01020304u, 0x00000005u)", 7),
    Probe("__vneg4(0x01020304u)", 0xFFFEFDFC),
    Probe("__vabs2(0xFFFF0001u)", 0x00010001),
]
FLOATS = [
    is_("__fadd_rn(1.0f, 2.0f) == 3.0f && __fsub_rn(1.0f, 2.0f) == -1.0f"),
    is_("__fadd_ru(1.0f, 1e-20f) > 1.0f && __fadd_rd(1.0f, 1e-20f) == 1.0f"),
    is_("__fadd_rz(-1.0f, 1e-20f) > -1.0f"),
    is_("__fmul_rn(3.0f, 0.5f) == 1.5f && __fmul_ru(0.1f, 0.1f) > __fmul_rd(0.1f, 0.1f)"),
    is_("__fdiv_rn(1.0f, 4.0f) == 0.25f && __fdiv_ru(1.0f, 3.0f) > __fdiv_rd(1.0f, 3.0f)"),
    is_("__frcp_rn(4.0f) == 0.25f && __frcp_rz(3.0f) == __frcp_rd(3.0f)"),
    is_("__fsqrt_rn(9.0f) == 3.0f && __fsqrt_ru(2.0f) > __fsqrt_rd(2.0f)"),
    is_("__fmaf_rn(2.0f, 3.0f, 1.0f) == 7.0f && __fmaf_rz(2.0f, 3.0f, 1.0f) == 7.0f"),
    is_("__frsqrt_rn(4.0f) == 0.5f"),
    is_("__fdividef(6.0f, 3.0f) == 2.0f"),
    is_("__saturatef(2.0f) + __saturatef(-1.0f) == 1.0f"),
    is_("fabsf(rsqrtf(4.0f) - 0.5f) < 1e-6f && fabs(rsqrt(4.0) - 0.5) < 1e-12"),
    is_("fabsf(__expf(1.0f) - expf(1.0f)) < 1e-5f && fabsf(__exp10f(2.0f) - 100.0f) < 1e-3f"),
    is_("fabsf(__logf(2.0f) - 0.6931472f) < 1e-5f && fabsf(__log2f(8.0f) - 3.0f) < 1e-5f"),
    is_("fabsf(__sinf(1.0f) - sinf(1.0f)) < 1e-5f && fabsf(__cosf(1.0f) - cosf(1.0f)) < 1e-5f"),
    is_("float s, c; __sincosf(1.0f, &s, &c); r = fabsf(s * s + c * c - 1.0f) < 1e-5f;"),
    is_("fabsf(__powf(2.0f, 3.0f) - 8.0f) < 1e-4f && fabsf(__tanf(0.5f) - tanf(0.5f)) < 1e-5f"),
    is_("fabsf(exp10f(2.0f) - 100.0f) < 1e-3f && fabsf(rcbrtf(8.0f) - 0.5f) < 1e-6f"),
    is_("sinpif(1.0f) == 0.0f && cospif(1.0f) == -1.0f"),
    is_("norm3df(1.0f, 2.0f, 2.0f) == 3.0f && fabsf(rhypotf(3.0f, 4.0f) - 0.2f) < 1e-6f"),
    is_("__dadd_rn(1.0, 2.0) == 3.0 && __fma_rn(2.0, 3.0, 1.0) == 7.0"),
    is_("isnan(NAN) && isinf(INFINITY) && !isfinite(INFINITY) && signbit(-0.0f)"),
    is_(
        "fmaf(2.0f, 3.0f, 1.0f) == 7.0f && fminf(1.0f, NAN) == 1.0f && copysignf(1.0f, -2.0f) == -1.0f"
    ),
    is_("CUDART_INF_F > 1e38f && CUDART_PI_F > 3.14f && isnan(CUDART_NAN_F)"),
    is_("INT_MAX == 2147483647 && UINT_MAX == 0xFFFFFFFFu && CHAR_BIT == 8 && LLONG_MAX > 0"),
]
CONVERSIONS = [
    Probe("__float2int_rn(2.5f) * 1000 + __float2int_rz(2.7f) * 100 + __float2int_ru(2.1f) * 10 "
          "+ __float2int_rd(2.9f)", 2232),
    Probe("__float2int_rz(1e20f)", 2**31 - 1),
    Probe("__float2uint_rn(-5.0f)", 0),
    Probe("__float2uint_rz(NAN)", 0),
    Probe("__float2ll_rn(1e12f)", 999999995904),
    Probe("__float2ull_rd(2.9f)", 2),
    is_("__int2float_rn(16777217) == 16777216.0f && __int2float_ru(16777217) == 16777218.0f"),
    is_("__uint2float_rz(0xFFFFFFFFu) == 4294967040.0f"),
    is_("__ll2float_rd(-16777217ll) == -16777218.0f && __ull2float_rn(5ull) == 5.0f"),
    Probe("__double2int_rn(-2.5)", -2),
    Probe("__double2uint_ru(2.1) + __double2ll_rz(-2.9)", 1),
    is_("__double2float_ru(0.1) > __double2float_rd(0.1) && __int2double_rn(3) == 3.0"),
    Probe("__half2int_rn(__float2half(2.5f)) * 10 + __half2int_rz(__float2half(2.7f))", 22),
    Probe("__half2uint_ru(__float2half(2.1f)) + __half2short_rd(__float2half(-2.1f))", 0),
    is_("__half2float(__int2half_rn(2049)) == 2048.0f && __half2float(__int2half_ru(2049)) == 2050.0f"),
    is_("__half2float(__uint2half_rz(70000u)) == 65504.0f"),
    is_("__half2float(__float2half_ru(0.1f)) > __half2float(__float2half_rd(0.1f))"),
    is_("__half2float(__double2half(0.5)) == 0.5f && __half_as_ushort(__ushort_as_half(7)) == 7"),
    Probe("__bfloat162int_rn(__float2bfloat16(-2.5f))", -2),
    is_("__bfloat162float(__int2bfloat16_rn(257)) == 256.0f"),
]  # fmt: skip
HALVES = [
    is_("const half h = 2.0f; r = __hgt(h, half(1.0f)) && __hlt(half(1.0f), h) && __heq(h, h);"),
    is_("const half h = NAN; r = __hisnan(h) && !__hne(h, h) && __hneu(h, h) && h != h;"),
    is_("const half2 a = __floats2half2_rn(1.0f, 3.0f); r = __hbgt2(a, __float2half2_rn(0.5f));"),
    is_("const half2 a = __floats2half2_rn(1.0f, 3.0f), m = __hgt2(a, __float2half2_rn(2.0f)); "
        "r = __low2float(m) == 0.0f && __high2float(m) == 1.0f;"),
    Probe("__hgt2_mask(__floats2half2_rn(1.0f, 3.0f), __float2half2_rn(2.0f))", 0xFFFF0000),
    is_("half2 a = __floats2half2_rn(1.0f, -3.0f); a = __hmax2(a, __habs2(a)); "
        "r = __high2float(a) == 3.0f && __low2float(__hmin2(a, __hneg2(a))) == -1.0f;"),
    is_("__half2float(__hmax(half(1.0f), half(NAN))) == 1.0f && __hisnan(__hmax_nan(half(1.0f), half(NAN)))"),
    is_("__half2float(__habs(half(-2.0f))) == 2.0f && __hisinf(half(-INFINITY)) == -1"),
    is_("__half2float(hsqrt(half(9.0f))) == 3.0f && __half2float(hrcp(half(4.0f))) == 0.25f"),
    is_("__half2float(h2rcp(__float2half2_rn(4.0f)).x) == 0.25f && __half2float(hrsqrt(half(4.0f))) == 0.5f"),
    is_("__half2float(hfloor(half(2.5f))) == 2.0f && __half2float(hrint(half(2.5f))) == 2.0f"),
    is_("__half2float(hexp2(half(3.0f))) == 8.0f && __half2float(hlog2(half(8.0f))) == 3.0f"),
    is_("__half2float(__hfma(half(2.0f), half(3.0f), half(1.0f))) == 7.0f"),
    is_("__half2float(__hadd_sat(half(0.75f), half(0.75f))) == 1.0f"),
    is_("__half2float(__hfma_relu(half(-2.0f), half(3.0f), half(1.0f))) == 0.0f"),
    is_("half h = 1.0f; ++h; h += half(2.0f); h -= half(1.0f); r = h == half(3.0f) && h < half(4.0f);"),
    is_("const half2 a = make_half2(1.0f, 2.0f); r = a + a == a * __float2half2_rn(2.0f);"),
    is_("const half2 a = __lowhigh2highlow(make_half2(1.0f, 2.0f)); r = __half2float(a.x) == 2.0f;"),
    is_("__half2float(__shfl_xor_sync(~0u, half(float(t)), 1)) == float(t ^ 1)"),
    is_("const __nv_bfloat162 a = __floats2bfloat162_rn(1.0f, 2.0f), b = __hfma2(a, a, a); "
        "r = __low2float(b) == 2.0f && __high2float(b) == 6.0f;"),
    is_("const __nv_bfloat162 a = __float2bfloat162_rn(3.0f); const float2 f = __bfloat1622float2(a * a - a); "
        "r = f.x == 6.0f && f.y == 6.0f;"),
    is_("__bfloat162float(__hmax(__float2bfloat16(1.0f), __float2bfloat16(2.0f))) == 2.0f"),
    is_("__bfloat162float(__low2bfloat16(__halves2bfloat162(__float2bfloat16(1.0f), "
        "__float2bfloat16(2.0f)))) == 1.0f"),
    is_("__hbeq2(__bfloat162bfloat162(__float2bfloat16(1.0f)), __float2bfloat162_rn(1.0f))"),
]  # fmt: skip
VECTORS = [
    Probe("sizeof(char3) + 10 * sizeof(char4) + 100 * alignof(char4)", 443),
    Probe("sizeof(short3) + 10 * alignof(short3) + 100 * alignof(short4)", 826),
    Probe("sizeof(float3) + 100 * alignof(float3) + 1000 * alignof(float4)", 16412),
    Probe("sizeof(double2) + 100 * alignof(double2) + 10000 * sizeof(double3)", 241616),
    Probe("alignof(longlong2) + 100 * alignof(uint1) + 1000 * alignof(ulonglong3)", 8416),
    Probe("const int3 v = make_int3(1, 2, 3); r = v.x + 10 * v.y + 100 * v.z;", 321),
    Probe("const uchar4 v = make_uchar4(1, 2, 3, 255); r = v.w + v.z;", 258),
    Probe("const char2 v = make_char2(-1, 2); r = v.x * v.y;", -2),
    Probe("const short2 v = {-1, 2}; r = v.x * v.y;", -2),
    Probe("const ushort4 v{1, 2, 3, 4}; r = v.w;", 4),
    Probe("const float4 v = {1.0f, 2.0f}; r = v.x + v.y + v.z + v.w;", 3),
    Probe("float2 v; v.x = 1; v.y = 2; float2 w = v; r = w.x + w.y;", 3),
    Probe("const double2 v = make_double2(1.0, 2.0); r = v.x + v.y;", 3),
    Probe("const longlong2 v = make_longlong2(1ll << 40, 2); r = v.x >> v.y;", 1 << 38),
    Probe("const float1 v = make_float1(3.0f); r = v.x;", 3),
    Probe("const uint3 v = make_uint3(1, 2, 3); r = v.z;", 3),
    Probe("const dim3 d(1, 2, 3); r = d.x + 10 * d.y + 100 * d.z;", 321),
    Probe("const dim3 d = 4; const uint3 u = d; r = u.x + 10 * u.y;", 14),
    Probe("const dim3 d(threadIdx); r = d.x + d.y;", lambda t: t),
    Probe("r = reinterpret_cast<const float4*>(x)[t / 4].z;", lambda t: t // 4 * 4 + 2),
    Probe("union { float4 v; float f[4]; } u; u.v = make_float4(1, 2, 3, 4); r = u.f[t % 4];",
          lambda t: t % 4 + 1),
]  # fmt: skip
WARPS = [
    Probe("__shfl_sync(~0u, t, 3)", 3),
    Probe("__shfl_up_sync(~0u, t, 1)", lambda t: max(t - 1, 0)),
    Probe("__shfl_down_sync(~0u, t, 1, 8)", lambda t: t if t % 8 == 7 else t + 1),
    Probe("__shfl_xor_sync(~0u, (long long)t << 40, 1) >> 40", lambda t: t ^ 1),
    Probe("__ballot_sync(~0u, t & 1)", 0xAAAAAAAA),
    Probe("__any_sync(~0u, t == 5) + __all_sync(~0u, t < 5)", 1),
    Probe("r = -1; if (t < 7) r = __activemask();", lambda t: 127 if t < 7 else -1),
    Probe("__match_any_sync(~0u, t / 8)", lambda t: 0xFF << t // 8 * 8),
    Probe("int all; r = __match_all_sync(~0u, 3.0f, &all) == ~0u && all;", 1),
    Probe("int all; r = __match_all_sync(~0u, t, &all) + all;", 0),
    Probe("__reduce_add_sync(~0u, t)", 496),
    Probe("__reduce_min_sync(~0u, 5 - t) + __reduce_max_sync(~0u, (unsigned)t)", 5),
    Probe("__reduce_or_sync(~0u, 1u << t) - __reduce_and_sync(~0u, ~0u)", 0),
    Probe("__reduce_xor_sync(0xFFu << t / 8 * 8, (unsigned)t)", 0),
    Probe("__syncthreads_count(t < 5)", 5),
    Probe("__syncthreads_and(t < 32) * 10 + __syncthreads_or(t == 40)", 10),
    Probe("for (int o : {16, 8, 4, 2, 1}) t += __shfl_xor_sync(~0u, t, o); r = t;", 496),
]
GROUPS = [
    Probe("auto b = cg::this_thread_block(); b.sync(); r = b.thread_rank() + b.size();", lambda t: t + 32),
    Probe("auto w = cg::tiled_partition<32>(cg::this_thread_block()); r = w.shfl(t, 3) + w.size();", 35),
    Probe("auto q = cg::tiled_partition<4>(cg::this_thread_block()); r = q.shfl_down(t, 1) + "
          "100 * q.thread_rank() + 1000 * q.meta_group_rank();",
          lambda t: (t if t % 4 == 3 else t + 1) + 100 * (t % 4) + 1000 * (t // 4)),
    Probe("auto q = cg::tiled_partition<8>(cg::this_thread_block()); r = q.ballot(t & 1) + q.any(t == 0);",
          lambda t: 0xAA + (t < 8)),
    Probe("auto q = cg::tiled_partition<8>(cg::this_thread_block()); r = cg::reduce(q, t, cg::plus<int>());",
          lambda t: sum(range(t // 8 * 8, t // 8 * 8 + 8))),
    Probe("r = 0; if (t % 2) { auto c = cg::coalesced_threads(); r = c.size() + 100 * c.thread_rank(); }",
          lambda t: t % 2 * (16 + 100 * (t // 2))),
    Probe("auto w = cg::tiled_partition<32>(cg::this_thread_block()); cg::sync(w); "
          "r = w.shfl_xor(t, 1) + w.all(true);", lambda t: (t ^ 1) + 1),
]  # fmt: skip
ATOMICS = [
    Probe("box[t] = 0; __syncthreads(); atomicAdd(&box[0], t); __syncthreads(); r = box[0];", 496),
    Probe("__shared__ int s; if (t == 0) s = 0; __syncthreads(); atomicAdd(&s, 2); __syncthreads(); r = s;", 64),
    Probe("__shared__ float s; if (t == 0) s = 0; __syncthreads(); atomicAdd(&s, 0.5f); __syncthreads(); r = s;", 16),
    Probe("__shared__ double s; if (t == 0) s = 0; __syncthreads(); atomicAdd(&s, 0.5); __syncthreads(); r = s;", 16),
    Probe("__shared__ unsigned long long s; if (t == 0) s = 0; __syncthreads(); atomicAdd(&s, 1ull << 33); "
          "__syncthreads(); r = s >> 33;", 32),
    Probe("__shared__ half2 s; if (t == 0) s = __float2half2_rn(0.0f); __syncthreads(); "
          "atomicAdd(&s, __floats2half2_rn(1.0f, 0.5f)); __syncthreads(); r = __low2float(s) + __high2float(s);", 48),
    Probe("__shared__ int s; if (t == 0) s = 0; __syncthreads(); atomicSub(&s, 1); atomicMax(&s, -100); "
          "atomicMin(&s, 50); __syncthreads(); r = s;", -32),
    Probe("__shared__ unsigned s; if (t == 0) s = 0; __syncthreads(); atomicMax(&s, t + 0u); __syncthreads(); r = s;", 31),
    Probe("__shared__ unsigned s; if (t == 0) s = 0; __syncthreads(); atomicOr(&s, 1u << t); __syncthreads(); "
          "atomicAnd(&s, ~(1u << t)); __syncthreads(); atomicXor(&s, t % 2); __syncthreads(); r = s;", 0),
    Probe("__shared__ unsigned s; if (t == 0) s = 0; __syncthreads(); atomicInc(&s, 9u); __syncthreads(); r = s;", 2),
    Probe("__shared__ unsigned s; if (t == 0) s = 0; __syncthreads(); atomicDec(&s, 9u); __syncthreads(); r = s;", 8),
    Probe("__shared__ int s; if (t == 0) s = 5; __syncthreads(); int won = atomicCAS(&s, 5, t) == 5; "
          "__syncthreads(); r = __syncthreads_count(won);", 1),
    Probe("__shared__ int s; if (t == 0) s = 0; __syncthreads(); int old = s, seen; __syncthreads(); do { seen = old; "
          "old = atomicCAS(&s, seen, seen + 3); } while (old != seen); __syncthreads(); r = s;", 96),
    Probe("__shared__ int s; if (t == 0) s = 0; __syncthreads(); atomicAdd_block(&s, 1); __syncthreads(); r = s;", 32),
    Probe("__shared__ int s[4]; if (t < 4) atomicExch(&s[t], 7); __syncthreads(); r = s[t % 4];", 7),
    Probe("box[t] = t; __threadfence(); __threadfence_block(); __threadfence_system(); r = box[t];", lambda t: t),
]  # fmt: skip
MEMORY = [
    Probe("__ldg(x + t)", lambda t: t),
    Probe("__ldcg(x + t) + __ldca(x + t) + __ldcs(x + t)", lambda t: 3 * t),
    Probe("__ldlu(x + t) + __ldcv(x + t)", lambda t: 2 * t),
    Probe("__stcs(&box[t], t); r = box[t];", lambda t: t),
    Probe("__stcg(&box[t], t); __stwb(&box[t], t + 1); __stwt(&box[t], t + 2); r = box[t];", lambda t: t + 2),
    Probe("int* p = static_cast<int*>(malloc(8)); p[0] = t; p[1] = 1; r = p[0] + p[1]; free(p);", lambda t: t + 1),
    Probe("int* p = new int[3]; p[2] = t; r = p[2]; delete[] p;", lambda t: t),
    Probe("int* p = new int(t); r = *p; delete p;", lambda t: t),
    Probe("r = malloc(9 << 20) == nullptr;", 1),
    Probe("int v[4]; memset(v, 0, sizeof v); v[t % 4] = 3; int w[4]; memcpy(w, v, sizeof v); r = w[t % 4];", 3),
    Probe("__shared__ int s[32]; s[31 - t] = t; __syncthreads(); r = s[t];", lambda t: 31 - t),
    Probe("__shared__ float4 s[8]; if (t < 8) s[t] = make_float4(t, 0, 0, 1); __syncthreads(); r = s[t / 4].x + s[0].w;",
          lambda t: t // 4 + 1),
]  # fmt: skip
LANGUAGE = [
    Probe("twice(t)", lambda t: 2 * t),
    Probe("not_inlined(t)", lambda t: t + 1),
    Probe("inlined(t)", lambda t: t + 2),
    Probe("power<3>(2)", 8),
    Probe("sum_of(1, 2, 3)", 6),
    Probe("Point<int> p{1, 2}; r = p.area() + Point<int>::sides;", 6),
    Probe("const auto add = [=](int v) { return v + t; }; r = add(1);", lambda t: t + 1),
    Probe("r = apply([](int v) { return v * v; }, t);", lambda t: t * t),
    Probe("constexpr int n = 3; static_assert(n == 3); if constexpr (n > 2) r = 1; else r = 0;", 1),
    Probe("r = 0; for (int i : {4, 1, 16}) r += i;", 21),
    Probe("r = 0; _Pragma(\"unroll\") for (int i = 0; i < 4; ++i) r += i;", 6),
    Probe("int v[] = {1, 2, 3}; r = 0; for (int& i : v) r += i;", 6),
    Probe("switch (t % 3) { case 0: r = 5; break; case 1: r = 6; break; default: r = 7; }", lambda t: 5 + t % 3),
    Probe("enum class Colour { RED, BLUE }; r = static_cast<int>(Colour::BLUE);", 1),
    Probe("r = std::is_same<int, int>::value;", 1),
    Probe("assert(t < 32); if (t > 99) printf(\"%d\\n\", t); r = 1;", 1),
    Probe("__builtin_assume(t < 32); if (t > 99) __trap(); r = 1;", 1),
    Probe("const long long begin = clock64(); r = clock64() >= begin;", 1),
    Probe("const clock_t begin = clock(); r = clock() >= begin;", 1),
    Probe("__nanosleep(20); r = 1;", 1),
    Probe("uint a = 1; ushort b = 2; ulong c = 3; r = a + b + c;", 6),
    Probe("table[t % 4] + warpSize", lambda t: 32 + t % 4 * 10),
    Probe("__shared__ int s[32]; s[t] = t; __syncthreads(); const size_t at = __cvta_generic_to_shared(&s[31 - t]); "
          "r = *static_cast<int*>(__cvta_shared_to_generic(at));", lambda t: 31 - t),
    Probe("volatile int v = t; r = v;", lambda t: t),
    Probe("std::initializer_list<int> l = {1, 2}; r = *l.begin() + l.size();", 3),
]  # fmt: skip
PROBES = [
    *BITS, *INTEGERS, *SIMD, *FLOATS, *CONVERSIONS, *HALVES, *VECTORS, *WARPS, *GROUPS, *ATOMICS,
    *MEMORY, *LANGUAGE,
]  # fmt: skip

_TEXT = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>
namespace cg = cooperative_groups;

__constant__ int table[4] = {0, 10, 20, 30};
__device__ __forceinline__ int twice(int v) { return 2 * v; }
__device__ __noinline__ int not_inlined(int v) { return v + 1; }
static __device__ __inline__ int inlined(int v) { return v + 2; }
template <int n>
__device__ int power(int base) {
  if constexpr (n == 0) return 1;
  else return base * power<n - 1>(base);
}
template <typename... Numbers>
__device__ int sum_of(Numbers... numbers) { return (numbers + ...); }
template <typename T>
struct Point {
  static constexpr int sides = 4;
  T x, y;
  __device__ T area() const { return x * y; }
};
template <typename Function>
__device__ int apply(Function function, int v) { return function(v); }

PROBES
__global__ void __launch_bounds__(32) kernel(const float* x, long long* y, int* boxes) {
  int* box = boxes + 32 * blockIdx.x;
  box[threadIdx.x] = 0;
  __syncthreads();
  long long r = 0;
  switch (blockIdx.x) {
CASES
  }
  y[32 * blockIdx.x + threadIdx.x] = r;
}
"""


def text():
    """The CUDA text of all probes: block i of its kernel(x, y, boxes) runs probe i."""
    probes = [
        f"__device__ void probe_{i}(int t, const float* x, int* box, long long& r) {{ {p.statements} }}"
        for i, p in enumerate(PROBES)
    ]
    cases = [f"    case {i}: probe_{i}(threadIdx.x, x, box, r); break;" for i in range(len(PROBES))]
    return _TEXT.replace("PROBES", "\n".join(probes)).replace("CASES", "\n".join(cases))


# What the simulator does not have, and a word of the sentence about it.
NOT_SIMULATED = {
    "tex2D<float>(0, 1.0f, 2.0f);": "a plain array",
    "cudaTextureObject_t texture;": "a plain array",
    "surf2Dread(0, 1, 2);": "a plain array",
    "child<<<1, 32>>>(y);": "child<<<...>>>",
    "cg::this_grid().sync();": "two launches",
    "cg::this_cluster().sync();": "one block",
    "__dadd_rz(1.0, 2.0);": "_rn",
    "__drcp_ru(1.0);": "_rn",
    "__fma_rd(1.0, 2.0, 3.0);": "_rn",
    "erfinvf(0.5f);": "erff",
    "__viaddmax_s32(1, 2, 3);": "min, max",
    "__nv_fp8_e4m3 e;": "unsigned char",
    "__half_raw raw;": "__ushort_as_half",
    "__isShared(y);": "parameter",
    "cudaGridDependencySynchronize();": "two launches",
    "cudaDeviceSynchronize();": "kernel alone",
    "cuda::atomic_ref<int> a(*y);": "atomicAdd",
    "cub::BlockReduce<int, 32> b;": "warp shuffles",
    "thrust::plus<int> p;": "warp shuffles",
    "curandState state;": "hash",
    "__brkpt();": "printf",
    "__shfl(1, 2);": "__shfl_sync",
    "__ballot(1);": "__ballot_sync",
    "y[0] = FLT_MAX;": "float.h",
}
