"""What CUDA has and the simulator has not, and what to use there."""

import re

# (pattern of a name, or of a header, what to use in its place)
_ADVICE = (
    (r"(tex|surf)[123]D\w*|cuda(Texture|Surface)Object_t", "a plain array and an index"),
    (r"__d(add|sub|mul|div|rcp|sqrt)_r[zud]|__fma_r[zud]", "the form that ends in _rn"),
    (r"__u?(ll|int)2double_r[zud]|__ull2double_r[zud]", "the form that ends in _rn"),
    (r"erfcxf?|erfc?invf?|normcdf(inv)?|normcdfinvf|cyl_bessel_i[01]f?", "expf, logf and erff"),
    (r"r?normf?", "sqrtf of a sum"),
    (r"__vi(add|b|max|min)\w*", "min, max and +"),
    (r"h2?tanh_approx", "htanh or h2tanh"),
    (r"__nv_fp[468]\w*|__nv_cvt_\w+|cuda_fp[468]\.h", "unsigned char, and shifts for its bits"),
    (r"__half2?_raw|__nv_bfloat162?_raw", "__ushort_as_half and __half_as_ushort"),
    (r"__is(Global|Shared|Constant|Local|GridConstant)", "a parameter that says so"),
    (r"__barrier_sync\w*", "__syncthreads()"),
    (r"__brkpt|__pm[0-3]|vprintf", "printf or assert"),
    (r"cudaGridDependencySynchronize|cudaTrigger\w+", "two launches"),
    (
        r"cuda(Malloc|Free|Memcpy|Memset|Stream|Event|Device|Launch|Get|Func|Graph)\w*|cuda\w+_t",
        "a kernel alone: the simulator's caller allocates and launches",
    ),
    (r"this_grid|grid_group|this_multi_grid", "two launches, one after the other"),
    (r"this_cluster|cluster_group|__cluster_\w+|cluster(Dim|Idx)\w*", "one block"),
    (r"(labeled|binary)_partition|invoke_one\w*|(in|ex)clusive_scan", "shfl and ballot of a tile"),
    (r"memcpy_async|wait_prior", "__pipeline_memcpy_async and __pipeline_wait_prior"),
    (r"bmma_sync", "the fragments of 8-bit integers"),
    (r"curand\w*(\.h)?", "a hash of the thread's index"),
    (r"(cub|thrust)(/.*)?", "a loop and warp shuffles of your own"),
    (r"cuda(/.*)?|nv/.*|cuda_awbarrier\w*(\.h)?", "atomicAdd, __threadfence and __syncthreads"),
    (r"cu(Complex|C[a-z]+f?|FloatComplex|DoubleComplex)(\.h)?|make_cu\w+", "float2"),
)
_OLD = re.compile(r"__(shfl(_up|_down|_xor)?|ballot|any|all)")
_OF_A_HEADER = re.compile(r"(FLT|DBL)_(MAX|MIN|EPSILON|DIG|MANT_DIG)")
_OF_HALVES = re.compile(
    r"__h(add|sub|mul|div|fma|neg|abs|eq|ne|lt|le|gt|ge|max|min|isnan|isinf|cmadd)2?(_\w+)?"
    r"|__(low|high)2(float|half2?)|h2?(exp|log|sqrt|rsqrt|rcp|sin|cos|floor|ceil|rint|trunc)(2|10)?"
)
_HEADER = re.compile(r"did you mean 'sim_(fp16|bf16)::(\w+)'")
_UNKNOWN = re.compile(
    "not declared|not been declared|does not name a type|is not a member of|has no member named|"
    "depend on a template parameter|is not a template|No such file|not a class, namespace"
)


def explain_unknown_name(message, line, in_hole=False):
    """One sentence about the CUDA name that the host's compiler does not know; None if it is none.

    message: what the compiler says. line: of the text. in_hole: it fills a hole of a kernel.
    """
    if "<<<" in line:
        return _sentence("child<<<...>>> in a kernel", "a __device__ function")
    if not _UNKNOWN.search(message):
        return None
    header = _HEADER.search(message)
    if header and in_hole:
        return (
            f"{header[2]} comes from <cuda_{header[1]}.h>, which this kernel does not include: "
            "compute without it"
        )
    if header:
        return f"{header[2]} comes from <cuda_{header[1]}.h>: include that first"
    named = re.search(r"'([^']+)'|([\w/.]+): No such file", message)
    names = re.findall(r"[\w/.]+", named[1] or named[2]) if named else ()
    return next(filter(None, map(_explain, names)), None)


def _explain(name):
    if _OLD.fullmatch(name):
        return f"CUDA has {name} no more since sm_70: use {name}_sync, with a mask of the lanes"
    if _OF_HALVES.fullmatch(name):
        return f"{name} takes half or bfloat16 numbers, and gets none here: convert them first"
    if _OF_A_HEADER.fullmatch(name):
        return f"nvcc knows {name} only from <float.h>: write the number itself"
    for pattern, advice in _ADVICE:
        if re.fullmatch(pattern, name):
            return _sentence(name, advice)
    return None


def _sentence(name, advice):
    return f"CUDA has {name}, the simulator does not yet; use {advice}"
