"""What lines that begin with # may say in a learner's text.

The text must be the same one in the simulator and on a GPU. So no line may depend on who compiles
it, except a guard around `asm`, which only a GPU has:

    #ifdef __CUDA_ARCH__          // or __CUDACC__, or a comparison like __CUDA_ARCH__ >= 800
      asm("lop3.b32 ...");
    #else
      the same in C++
    #endif
"""

import re

from gemlite_edu.kernels.asm_rules import is_empty_asm
from gemlite_edu.kernels.conditionals import Directive
from gemlite_edu.kernels.host_words import is_of_the_host
from gemlite_edu.kernels.other_macros import is_another_macro
from gemlite_edu.kernels.tokens import STRING, WORD

GUARDS = ("__CUDA_ARCH__", "__CUDACC__")
# The simulator's own names, and those that the standard keeps for compilers.
OF_THE_SIMULATOR = re.compile(r"_*(?:sim_|SIM_|Sim[A-Z])\w*")
_RESERVED = re.compile(r"_[A-Z_]\w*")
_OPENS = ("if", "ifdef", "ifndef")
_OF_CONDITIONALS = (*_OPENS, "elif", "else", "endif")
_OF_CONDITIONS = ("defined", "true", "false", "and", "or", "not")
ON_A_GPU, HERE = "on a GPU", "here"  # the sides of a guard
_INCLUDES = ("include", "include_next", "import", "embed")
# Macros of the host's headers, which a GPU's compiler has or has not.
_OF_HEADERS = re.compile(
    r"(?:CUDA|CUDART|CU|NV|FLT|DBL|LDBL|HUGE|FP|M)_\w+|NULL|EOF|NDEBUG|\w+_MAX|\w+_MIN"
)
KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl const constexpr const_cast continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual
    void volatile wchar_t while xor xor_eq final override defined half half2 nv_bfloat16
    nv_bfloat162 dim3 threadIdx blockIdx blockDim gridDim warpSize min max""".split()
)
VECTOR = re.compile(r"u?(?:char|short|int|long|longlong)[1-4]|(?:float|double)[1-4]")
_SIZED = re.compile(r"u?int\d+_t")


def check_directives(lines, kernel_words, refuse):
    """Refuse directives by `refuse(line, what the text does)`.

    kernel_words: the words of the kernel around the text, which no macro may redefine.
    """
    own = _bodies(lines)
    for line in _directives(lines):
        if line.name in _INCLUDES:
            refuse(line.line, f"must not include files: leave the #{line.name} out")
        if line.name == "line":
            refuse(line.line, "must not number its lines itself: leave the #line out")
        if line.name == "pragma":
            check_pragma([token.text for token in line.tokens], line.line, refuse)
        if line.name in ("define", "undef") and line.tokens:
            _check_name(line, own, kernel_words, refuse)
    for line in lines:
        if not isinstance(line, Directive) or line.name == "define":
            _check_raw_words(line.tokens if isinstance(line, Directive) else line, refuse)
    _check_conditionals(lines, own, _unsure(own), refuse)


def _directives(lines):
    return [line for line in lines if isinstance(line, Directive)]


def _defines(line):
    return line.name == "define" and line.tokens


def _check_raw_words(tokens, refuse):
    """Refuse what would be gone, or part of another word, once macros are expanded."""
    for token in tokens:
        if token.kind == WORD and is_of_the_host(token.text):
            refuse(token.line, f"uses {token.text}, which is not the same here and on a GPU")


def _bodies(lines):
    """{name of a macro of the text: what stands behind it in all its definitions}."""
    found = {}
    for line in _directives(lines):
        if _defines(line):
            found.setdefault(line.tokens[0].text, []).extend(line.tokens[1:])
    return found


def _unsure(own):
    """The names of macros that paste names, or use those of compilers, directly or through others.

    own: {name: what stands behind it}."""
    found, before = {"##"}, 0
    while len(found) > before:
        before = len(found)
        found |= {
            name
            for name, body in own.items()
            if any(t.text in found or (t.text not in own and _is_of_compilers(t)) for t in body)
        }
    return found


def _is_of_compilers(token):
    word = token.text
    is_odd = (
        _RESERVED.match(word) or OF_THE_SIMULATOR.fullmatch(word) or _OF_HEADERS.fullmatch(word)
    )
    return token.kind == WORD and bool(is_odd or is_another_macro(word))


def check_pragma(words, line, refuse):
    """Refuse pragmas that only the simulator's compiler obeys."""
    if words[:1] in (["GCC"], ["clang"], ["STDC"], ["omp"]):
        refuse(
            line, f"has a #pragma {words[0]}, which a GPU's compiler does not obey: leave it out"
        )


def _check_name(line, own, kernel_words, refuse):
    name, what = line.tokens[0].text, f"must not #{line.name}"
    if line.name == "undef" and name not in own:
        refuse(line.line, f"{what} {name}, which is not its own: leave the line out")
    if name in KEYWORDS or VECTOR.fullmatch(name) or _SIZED.fullmatch(name):
        refuse(line.line, f"{what} {name}, a word of CUDA C++: give your macro another name")
    if _RESERVED.match(name) or OF_THE_SIMULATOR.fullmatch(name):
        refuse(line.line, f"{what} {name}, a name of compilers: give your macro another name")
    if name in kernel_words:
        refuse(line.line, f"{what} {name}, a name of the kernel: give your macro another name")
    for token in line.tokens[1:]:
        if token.text in GUARDS or token.text == "defined":
            refuse(
                line.line,
                f"must not hide {token.text} in a macro: write #ifdef __CUDA_ARCH__ itself",
            )


def _check_conditionals(lines, own, unsure, refuse):
    stack = []  # of each conditional around: its branches, as (directive, tokens in it)
    for line in lines:
        name = line.name if isinstance(line, Directive) else None
        if name in _OPENS:
            stack.append([(line, [])])
        elif name in ("elif", "else") and stack:
            stack[-1].append((line, []))
        elif name == "endif" and stack:
            branches = stack.pop()
            if stack:
                stack[-1][-1][1].extend(token for _, tokens in branches for token in tokens)
            _check_conditional(branches, own, unsure, refuse)
        elif stack:
            stack[-1][-1][1].extend(line if name is None else line.tokens)
    for branches in stack:
        refuse(branches[0][0].line, f"has an #{branches[0][0].name} without its #endif")


def _check_conditional(branches, own, unsure, refuse):
    sides = []
    for directive, _ in branches:
        sides.append(_side(directive, sides))
    if sides[0] is None:
        for directive, _ in branches:
            _check_condition(directive, own, unsure, refuse)
        return
    for (directive, tokens), side in zip(branches, sides, strict=True):
        if side is None:
            refuse(directive.line, f"must not mix its #{directive.name} with that of a GPU's asm")
        is_other_text = side is ON_A_GPU and not _has_instruction(tokens)
        if is_other_text or (ON_A_GPU not in sides and tokens):
            refuse(
                directive.line,
                f"is another text on a GPU than here: the side of #{directive.name} that a GPU "
                "compiles must have asm, and the other side the same in C++",
            )


def _has_instruction(tokens):
    return any(
        is_asm(token) and not is_empty_asm(tokens, index) for index, token in enumerate(tokens)
    )


def _check_condition(directive, own, unsure, refuse):
    for token in directive.tokens:
        word = token.text
        is_odd = token.kind == WORD and (_is_of_compilers(token) or not word.isupper())
        is_known = word in own or word in _OF_CONDITIONS
        if word in unsure or (is_odd and not is_known):
            refuse(
                token.line,
                f"must not ask for {word} in its #{directive.name}: it could be another text on a "
                "GPU than here",
            )


def is_asm(token):
    """True for the word that begins an instruction of a GPU, in any of its spellings."""
    return token.text in ("asm", "__asm__", "__asm")


def _side(directive, before):
    """ON_A_GPU or HERE for a side of a guard, of which only one compiles it; None for others.

    before: the sides of the same conditional before this one.
    """
    if directive.name == "else":
        if None in before:
            return None
        return ON_A_GPU if HERE in before else HERE
    text = " ".join(token.text for token in directive.tokens)
    guard = "(?:__CUDA_ARCH__|__CUDACC__)"
    is_defined = rf"defined (?:\( {guard} \)|{guard})"
    at_least = r"__CUDA_ARCH__ >=? \d+"
    if directive.name in ("ifdef", "ifndef"):
        side = ON_A_GPU if directive.name == "ifdef" else HERE
        return side if text in GUARDS else None
    if re.fullmatch(rf"(?:{is_defined} && )?(?:{at_least}|\( {at_least} \))|{is_defined}", text):
        return ON_A_GPU
    return HERE if re.fullmatch(rf"! {is_defined}", text) else None


def without_sides_for_a_gpu(lines):
    """The lines without what only a GPU's compiler reads, and without the guards around it."""
    kept, stack = [], []  # stack: of each conditional around the line, its sides so far
    for line in lines:
        name = line.name if isinstance(line, Directive) else None
        if name in _OPENS:
            stack.append([_side(line, [])])
        elif name in ("elif", "else") and stack:
            stack[-1].append(_side(line, stack[-1]))
        is_guard = bool(stack) and stack[-1][0] is not None and name in _OF_CONDITIONALS
        if not is_guard and all(sides[-1] is not ON_A_GPU for sides in stack):
            kept.append(line)
        if name == "endif" and stack:
            stack.pop()
    return kept


def text_of_string(token):
    """What stands in a plain string; None for other tokens."""
    if token.kind != STRING or not token.text.startswith('"'):
        return None
    return token.text[1:-1]
