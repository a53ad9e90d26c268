"""Compile a Triton kernel for a GPU that is not here, to see whether it compiles.

Triton's interpreter runs any Python; its compiler takes a part of Python, and checks types and
shapes. Tensors on torch's device "meta" have types and no memory, so a launch on them can only be
compiled: `launch` raises `PlannedLaunch`. Compiling stops before Triton's assembler, so it writes
no file and starts no program.
"""

import re

CAPABILITY = 90
STAGES = "ttir", "ttgir", "llir"  # before Triton's assembler
SHARED_KIB = 227  # of a block on that GPU
_PTX_VERSION = 87  # given, because Triton would start its assembler to ask for it
NAMES_OF_GRAMMAR = {  # of the parts of Python's grammar that Triton's language lacks
    "AsyncFunctionDef": "`async def`",
    "Break": "`break`",
    "ClassDef": "`class`",
    "Continue": "`continue`",
    "Delete": "`del`",
    "Dict": "dict",
    "DictComp": "dict",
    "GeneratorExp": "generator",
    "Global": "`global`",
    "Import": "`import`",
    "ImportFrom": "`import`",
    "Lambda": "`lambda`",
    "Match": "`match`",
    "NamedExpr": "`:=`",
    "Nonlocal": "`nonlocal`",
    "Raise": "`raise`",
    "Set": "set",
    "SetComp": "set",
    "Try": "`try`",
    "Yield": "`yield`",
}


class PlannedLaunch(Exception):
    """A launch on tensors without memory: a function of `runners.triton`, and its arguments."""

    def __init__(self, function, arguments, meta):
        super().__init__("tensors on the device 'meta' have no memory: this launch cannot run")
        self.function, self.arguments, self.meta = function, arguments, meta


def refusal(planned, text, is_whole=True):
    """Why Triton refuses to compile a planned launch for CAPABILITY, in words; None if it compiles.

    text: of the learner's function, whose line the words quote. is_whole: compile to LLVM's code,
    and see whether the shared memory suffices; otherwise only check types and shapes.
    """
    try:
        source, asked = _source(planned)
        facts = compiled(source, CAPABILITY, asked, STAGES if is_whole else STAGES[:1])
    except Exception as error:
        line, why = _place_and_reason(error, text)
        if "triton.cdiv(" in line and "@triton.jit" in why:
            why = "triton.cdiv is for the host and for constants: a kernel divides with tl.cdiv"
        return f"{why}, at `{line}`" if line else why
    shared = facts.get("shared", 0)
    if shared > SHARED_KIB * 1024:
        return f"it needs {shared / 1024:.0f} KiB of shared memory, and a GPU has {SHARED_KIB}"
    return None


def compiled(source, capability, asked, stages):
    """Triton's facts about a kernel, such as "shared" bytes, after these stages of compiling.

    source: Triton's ASTSource. asked: {option: value}. stages: of "ttir", "ttgir", "llir".
    """
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    source.hash()  # looks up every name in the text
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    options = backend.parse_options({"ptx_version": _PTX_VERSION} | asked)
    context, metadata, lower = ir.context(), {}, {}
    ir.load_dialects(context)
    backend.load_dialects(context)
    functions = backend.get_codegen_implementation(options), backend.get_module_map()
    module = source.make_ir(target, options, *functions, context)
    backend.add_stages(lower, options, source.language)
    for stage in stages:
        module = lower[stage](module, metadata)
    return metadata


def _source(planned):
    """(What Triton compiles, {option: value}), specialized as a launch on a GPU would be."""
    from triton.compiler import ASTSource
    from triton.runtime.jit import mangle_type

    function, names = planned.function, planned.function.arg_names
    given = dict(zip(names, planned.arguments, strict=False)) | planned.meta
    signature, constants, divisible = {}, {}, {}
    for position, (name, parameter) in enumerate(zip(names, function.params, strict=True)):
        value = given.pop(name, parameter.default)
        if parameter.is_constexpr or value is None or (isinstance(value, int) and value == 1):
            signature[name], constants[name] = "constexpr", value
            continue
        signature[name] = mangle_type(value)
        if hasattr(value, "data_ptr") or value % 16 == 0:
            divisible[(position,)] = [["tt.divisibility", 16]]
    return ASTSource(function, signature, constants, divisible), given


def _place_and_reason(error, text):
    """(The learner's line, or ""; what the innermost error says, shortened to a clause)."""
    line, lines = "", text[text.index("def ") :].splitlines()
    while True:
        node, source = getattr(error, "node", None), getattr(error, "src", None)
        if hasattr(node, "lineno") and source and source.split("(")[0] == lines[0].split("(")[0]:
            line = source.splitlines()[node.lineno - 1].strip()
        if error.__cause__ is None:
            return line, _in_short(getattr(error, "error_message", None) or str(error))
        error = error.__cause__


def _in_short(message):
    unsupported = re.match(r"unsupported AST node type: (\w+)", message)
    if unsupported:
        return f"Triton's language has no {NAMES_OF_GRAMMAR.get(unsupported[1], unsupported[1])}"
    if "iterators are currently supported" in message or "has no attribute 'func'" in message:
        return "a loop in Triton's language goes over `range` or `tl.static_range`"
    quoted = re.match(r"""\w+\((['"])(.*)\1\)$""", message.strip(), re.DOTALL)
    words = (quoted[2] if quoted else message).strip() or "Triton gives no reason"
    return re.split(r"\n|\\n|[.!] (?=[A-Z])", words)[0].rstrip(". :")
