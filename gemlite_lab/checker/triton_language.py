"""The words of Triton's language that mean the same in its interpreter and in its compiler."""

import ast
from functools import cache

from gemlite_edu.kernels.triton import FOLDER
from gemlite_edu.runners.ahead_of_time import NAMES_OF_GRAMMAR

TYPES = frozenset(
    "bfloat16 float16 float32 float64 float8e4nv float8e5 "
    "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
)
FUNCTIONS = frozenset(
    "abs add advance arange argmax argmin assume atomic_add atomic_and atomic_cas atomic_max "
    "atomic_min atomic_or atomic_xchg atomic_xor broadcast broadcast_to cast cat cdiv ceil clamp "
    "constexpr cos cumprod cumsum debug_barrier device_assert device_print div_rn dot dot_scaled "
    "erf exp exp2 expand_dims fdiv flip floor fma full gather histogram interleave join load log "
    "log2 make_block_ptr max max_constancy max_contiguous maximum min minimum mul multiple_of "
    "num_programs permute philox pointer_type program_id rand rand4x randint randint4x randn "
    "randn4x range ravel reduce_or reshape rsqrt sigmoid sin softmax sort split sqrt sqrt_rn "
    "squeeze static_assert static_print static_range store sub sum swizzle2d topk trans umulhi "
    "unsqueeze view where xor_sum zeros zeros_like".split()
)
MATH = frozenset(
    "abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi".split()
)
METHODS = frozenset(
    "abs advance argmax argmin atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or "
    "atomic_xchg atomic_xor broadcast_to cast cdiv ceil cos cumprod cumsum erf exp exp2 "
    "expand_dims flip floor gather histogram log log2 max min permute ravel reduce_or reshape "
    "rsqrt sigmoid sin softmax sort split sqrt sqrt_rn store sum to trans view xor_sum "
    "is_bf16 is_floating is_fp16 is_fp32 is_fp64 is_fp8 is_int is_int1 is_int16 is_int32 is_int64 "
    "is_int8 is_int_signed is_int_unsigned is_ptr is_uint16 is_uint32 is_uint64 is_uint8".split()
)
PROPERTIES = frozenset("T dtype element_ty primitive_bitwidth scalar shape type value".split())
MODULES = {  # those that an answer can name, and the functions in them
    "tl": FUNCTIONS,
    "tl.math": MATH,
    "triton": frozenset(("cdiv", "next_power_of_2")),
    "triton.language": FUNCTIONS,
    "triton.language.math": MATH,
}
PYTHON = frozenset("float int len max min print range".split())
TAKEN = PYTHON | {"tl", "triton"}
LOOPS = (
    "range",
    *(f"{tl}.{kind}" for tl in ("tl", "triton.language") for kind in ("range", "static_range")),
)
PRINTS = "print", "tl.device_print"
ASSERTIONS = "tl.device_assert", "tl.static_assert", "tl.static_print"
# The parts of Python's grammar that Triton's language has, and the names of some that it lacks.
GRAMMAR = (
    *(ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass, ast.Assert),
    *(ast.For, ast.While, ast.If, ast.IfExp, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare),
    *(ast.Call, ast.Starred, ast.Subscript, ast.Slice, ast.Tuple, ast.List),
    *(ast.Attribute, ast.Name, ast.Constant, ast.JoinedStr, ast.FormattedValue),
)


def called(node):
    """What a learner calls a part of Python's grammar."""
    kind = type(node).__name__
    return NAMES_OF_GRAMMAR.get(kind, kind)


@cache
def functions_of_the_kernels():
    """The names of the functions in the kernels' files, some of which an answer can call."""
    trees = (ast.parse(path.read_text()) for path in FOLDER.glob("*.py"))
    return frozenset(
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    )
