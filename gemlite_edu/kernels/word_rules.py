"""Words that the simulator's compiler takes and a GPU's compiler refuses, or reads otherwise.

The lists come from nvcc: tests/kernels/cuda_probes.json has its verdicts.
"""

import re

from gemlite_edu.kernels.declarations import behind_angles, closing
from gemlite_edu.kernels.directive_rules import (
    GUARDS,
    OF_THE_SIMULATOR,
    check_pragma,
    is_asm,
    text_of_string,
)
from gemlite_edu.kernels.tokens import ODD, STRING, WORD, tokens_of

_LONGEST_LIST = 300  # tokens of a list of attributes
_NOT_IN_CUDA = {
    "thread_local": "which CUDA does not have",
    "__thread": "which CUDA does not have",
    "throw": "but a GPU has no exceptions",
    "try": "but a GPU has no exceptions",
    "catch": "but a GPU has no exceptions",
    "dynamic_cast": "which a GPU does not have",
    "typeid": "which a GPU does not have",
    "errno": "which a GPU does not have",
    "stdin": "which a GPU does not have",
    "stdout": "which a GPU does not have",
    "stderr": "which a GPU does not have",
} | {
    word: "a type of the host: use half, float or double"
    for word in ("_Float16", "__fp16", "__bf16", "__float128", "_Float128", "__ibm128")
}
_HOST_MACRO = re.compile(
    r"__[A-Z][A-Z0-9_]*__|__NVCC__|__SANITIZE_\w+|__GNU\w+|__clang\w*|_GLIBCXX\w*"
)
_LIKE_A_NUMBER = re.compile(
    r"__(?:LINE|FILE|COUNTER|VA_ARGS|VA_OPT|FUNCTION|PRETTY_FUNCTION)__|__(?:FLT|DBL|INT|LONG|CHAR|SCHAR|SHRT|SIZE|PTRDIFF|UINT\d+|INT\d+)_[A-Z0-9_]+__"
)
_BUILTINS = frozenset(
    """LINE FILE FUNCTION abs addressof alloca assume assume_aligned bit_cast bswap16 bswap64 ceil
    ceilf clz clzl clzll constant_p copysign copysignf cos cosf ctzl ctzll exp exp2 exp2f expect
    expf fabs fabsf ffs ffsl ffsll floor floorf fma fmaf fmax fmaxf fmin fminf huge_val huge_valf
    inf inff is_constant_evaluated isfinite isinf isnan isnormal labs launder llabs log log2 log2f
    logf memcpy memset nan nanf offsetof popcount popcountl popcountll pow powf powi powif rint
    rintf round roundf signbit signbitf sin sinf sqrt sqrtf strlen trunc truncf unreachable va_arg
    va_copy va_end va_start""".split()
)
_HOST_FUNCTIONS = frozenset(
    """system exit abort getenv rand srand atoi atol atoll atof puts putchar fprintf fflush fopen
    fclose fread fwrite fputs fputc fgets fgetc getchar scanf fscanf sscanf sprintf snprintf vprintf
    vfprintf vsprintf vsnprintf qsort bsearch strcmp strncmp memcmp calloc realloc _exit _Exit
    quick_exit atexit at_quick_exit raise kill div ldiv lldiv strtol strtoll strtoul strtoull strtof
    strtod strtold isdigit isalpha isspace toupper tolower drand48 erand48 lrand48 mrand48 random
    srandom rand_r ffs ffsl ffsll perror strerror strdup strtok strchr strrchr strstr memchr setenv
    unsetenv putenv popen pclose remove rename tmpfile mkstemp realpath aligned_alloc posix_memalign
    valloc time sleep usleep nanosleep clock_gettime gettimeofday fork vfork execve getpid signal
    mmap memmove mempcpy memccpy strcpy stpcpy strncpy strcat strncat bzero bcopy bcmp finite
    finitef drem dremf gamma gammaf significand significandf roundeven roundevenf nextup nextupf
    nextdown nextdownf llogb llogbf scalb scalbf lgamma_r lgammaf_r isinff isnanf fpclassify
    fmaximum fminimum fmaxmag fminmag canonicalize totalorder getpayload""".split()
)
# Functions of math.h for long double, and for the types that say their bits.
_HOST_MATH = re.compile(
    r"(?:a?(?:cos|sin|tan)h?|atan2|cbrt|ceil|copysign|erfc?|exp(?:2|10|m1)?|fabs|fdim|floor|fma|fmax"
    r"|fmin|fmod|frexp|hypot|ilogb|j[01n]|ldexp|lgamma|l?lrint|l?lround|log(?:2|10|1p|b)?|modf|nan"
    r"|nearbyint|nextafter|pow|remainder|remquo|rint|round|scalbl?n|sincos|sqrt|tgamma|trunc|y[01n])"
    r"(?:l|f\d+x?)"
)
_HOST_STD = frozenset(
    """min max minmax swap exchange addressof pair make_pair as_const get begin end cbegin cend size
    data launder fpclassify next prev advance distance fill fill_n copy copy_n equal iter_swap
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t
    uintmax_t""".split()
)
_ATTRIBUTES = frozenset(
    """aligned packed unused used always_inline noinline noreturn const pure may_alias hot cold
    deprecated warn_unused_result nonnull returns_nonnull fallthrough nodiscard maybe_unused likely
    unlikely device host global shared constant launch_bounds weak unroll visibility cleanup
    gnu_inline artificial flatten leaf nothrow no_unique_address carries_dependency malloc
    alloc_size assume_aligned""".split()
)
_NO_TYPE = frozenset(
    """return else case goto throw sizeof new delete not and or xor do typedef using namespace
    co_return""".split()
)


def check_words(code, refuse):
    """Refuse words of `code`, a view without what only a GPU compiles, by `refuse(line, what)`."""
    for index, token in enumerate(code):
        before = code[index - 1].text if index else ""
        after = code[index + 1].text if index + 1 < len(code) else ""
        if token.kind == ODD and token.text[0] in "\"'":
            refuse(token.line, f"opens a quote that nothing closes: {token.text[:20]}")
        if token.kind == ODD:
            refuse(token.line, f"has a sign that C++ does not have: {token.text!r}")
        if token.kind == WORD:
            _check_word(code, index, before, after, refuse)
        if after == "[" and _is_declared_empty(code, index):
            refuse(token.line, f"declares {token.text} with no elements, which a GPU cannot")
        if token.text == "goto" and after == "*":
            refuse(token.line, "computes where its goto leads, which a GPU cannot")
    _check_attributes(code, refuse)
    _check_host_functions(code, refuse)


def _is_declared_empty(code, index):
    before, inside = code[max(index - 1, 0)], [token.text for token in code[index + 2 : index + 4]]
    is_type = before.kind == WORD and before.text not in _NO_TYPE
    return code[index].kind == WORD and is_type and inside == ["0", "]"]


def _check_word(code, index, before, after, refuse):
    token, word = code[index], code[index].text
    if word in _NOT_IN_CUDA and not (word == "throw" and (before, after) == (")", "(")):
        refuse(token.line, f"says {word}, {_NOT_IN_CUDA[word]}")
    if is_asm(token) and not _is_empty_asm(code, index):
        refuse(
            token.line,
            "has asm, which is for a GPU, and it runs on a CPU too: put the asm between "
            "#ifdef __CUDA_ARCH__ and #else, and the same in C++ between #else and #endif",
        )
    if word == "_Pragma":
        _check_pragma_operator(code[index + 1 : index + 4], token.line, refuse)
    if OF_THE_SIMULATOR.fullmatch(word):
        refuse(token.line, f"uses {word}, a name of the simulator, which a GPU does not have")
    if word in GUARDS or (_HOST_MACRO.fullmatch(word) and not _LIKE_A_NUMBER.fullmatch(word)):
        refuse(token.line, f"uses {word}, which is not the same here and on a GPU")
    if word.startswith(("__has_", "__sync_", "__atomic_", "__sanitizer_", "__tsan_", "__cxa_")):
        refuse(token.line, f"uses {word}, which a GPU's compiler does not have")
    if word.startswith("__builtin_") and word.removeprefix("__builtin_") not in _BUILTINS:
        refuse(token.line, f"uses {word}, which a GPU's compiler does not have")
    if before == "::" and index > 1 and code[index - 2].text == "std":
        _check_std(code, index, refuse)
    if word in ("__device__", "__host__") and before == "]" != code[index - 2].text:
        refuse(token.line, f"says {word} at a lambda: leave it out, the lambda is where it stands")


def _check_std(code, index, refuse):
    word, line = code[index].text, code[index].line
    behind = code[behind_angles(code, index + 1) :][:4]
    texts = [token.text for token in behind]
    is_pair = word == "pair" and "::" not in texts[:1] and "(" not in texts[:1]
    if word in _HOST_STD and not is_pair:
        refuse(line, f"uses std::{word}, which a GPU cannot call: leave the std:: out")
    if texts[:1] == ["::"] and texts[2:3] == ["("]:
        refuse(line, f"calls {texts[1]}() of std::{word}, which a GPU cannot: write the number")


def _is_empty_asm(code, index):
    """True for asm volatile("" : ...), which only keeps a compiler from moving code."""
    rest = [token for token in code[index + 1 : index + 5] if token.text.strip("_") != "volatile"]
    return len(rest) > 1 and rest[0].text == "(" and rest[1].text == '""' and rest[2].kind != STRING


def _check_pragma_operator(tokens, line, refuse):
    text = text_of_string(tokens[1]) if len(tokens) > 1 else None
    if text is None or tokens[0].text != "(":
        refuse(line, 'needs the words of its _Pragma as they are, like _Pragma("unroll")')
    words = [token.text for token in tokens_of("_Pragma", text.replace("\\", ""))]
    check_pragma(words, line, refuse)


def _check_attributes(code, refuse):
    for index, token in enumerate(code):
        is_list = token.text == "[" == (code[index + 1].text if index + 1 < len(code) else "")
        if token.text not in ("__attribute__", "__attribute") and not is_list:
            continue
        start = index if is_list else index + 1
        end = closing(code[start : start + _LONGEST_LIST], 0)
        if end == _LONGEST_LIST:
            refuse(token.line, "has a list of attributes without an end")
        for name in _listed(code[start : start + end]):
            if name.text.strip("_") not in _ATTRIBUTES:
                refuse(name.line, f"says {name.text}, an attribute for a host's compiler")


def _listed(tokens):
    """The words inside two brackets, the first one behind a comma each."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        before, after = tokens[index - 1].text, tokens[index + 1 : index + 2]
        is_first = before in ("(", "[", ",", "::") and not (after and after[0].text == "::")
        if depth == 2 and token.kind == WORD and is_first:
            yield token


def _check_host_functions(code, refuse):
    own, own_functions = _own_names(code)
    for index, token in enumerate(code):
        word = token.text
        if word not in _HOST_FUNCTIONS and not _HOST_MATH.fullmatch(word):
            continue
        before = code[index - 1].text if index else ""
        is_call = index + 1 < len(code) and code[index + 1].text == "("
        if before not in (".", "->") and word not in (own_functions if is_call else own):
            refuse(token.line, f"uses {word}, a function of the host, which a GPU cannot call")


def _own_names(code):
    """(the names that the text declares, those of them that are functions or lambdas)"""
    names, functions = set(), set()
    for index in range(1, len(code) - 1):
        before, token, after = code[index - 1 : index + 2]
        is_type = before.kind == WORD and before.text not in _NO_TYPE
        if token.kind == WORD and is_type:
            names.add(token.text)
            if after.text == "(" or (after.text == "=" and code[index + 2].text == "["):
                functions.add(token.text)
    return names, functions
