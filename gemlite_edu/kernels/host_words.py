"""Names of the host's compiler and libraries, and those of them that nvcc knows too.

The lists come from nvcc: tests/kernels/cuda_probes.json has its verdicts.
"""

import re

NOT_IN_CUDA = {
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
    r"__(?:LINE|FILE|COUNTER|VA_ARGS|VA_OPT|FUNCTION)__|__(?:FLT|DBL|INT|LONG|CHAR|SCHAR|SHRT|SIZE|PTRDIFF|UINT\d+|INT\d+)_[A-Z0-9_]+__"
)
BUILTINS = frozenset(
    """LINE FILE FUNCTION abs addressof alloca assume assume_aligned bit_cast ceil ceilf clz clzll
    copysign copysignf cos cosf exp exp2 exp2f expect expf fabs fabsf ffs ffsll floor floorf fma
    fmaf fmax fmaxf fmin fminf huge_val huge_valf inf inff is_constant_evaluated isfinite isinf
    isnan labs launder llabs log log2 log2f logf memcpy memset nan nanf offsetof popcount popcountll
    pow powf powi powif rint rintf round roundf signbit sin sinf sqrt sqrtf trunc truncf unreachable
    va_arg va_copy va_end va_start""".split()
)
# nvcc calls them of a number or a string alone.
BUILTINS_OF_CONSTANTS = frozenset(
    """bswap16 bswap64 clzl constant_p ctzl ctzll ffsl isnormal popcountl signbitf strlen""".split()
)
HOST_FUNCTIONS = frozenset(
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
HOST_MATH = re.compile(
    r"(?:a?(?:cos|sin|tan)h?|atan2|cbrt|ceil|copysign|erfc?|exp(?:2|10|m1)?|fabs|fdim|floor|fma|fmax"
    r"|fmin|fmod|frexp|hypot|ilogb|j[01n]|ldexp|lgamma|l?lrint|l?lround|log(?:2|10|1p|b)?|modf|nan"
    r"|nearbyint|nextafter|pow|remainder|remquo|rint|round|scalbl?n|sincos|sqrt|tgamma|trunc|y[01n])"
    r"(?:l|f\d+x?)"
)
HOST_STD = frozenset(
    """min max minmax swap exchange addressof pair make_pair as_const get begin end cbegin cend size
    data launder fpclassify next prev advance distance fill fill_n copy copy_n equal iter_swap
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t
    uintmax_t""".split()
)
ATTRIBUTES = frozenset(
    """aligned packed unused used always_inline noinline noreturn const pure may_alias hot cold
    deprecated warn_unused_result nonnull returns_nonnull fallthrough nodiscard maybe_unused likely
    unlikely device host global shared constant launch_bounds weak unroll visibility cleanup
    gnu_inline artificial flatten leaf nothrow no_unique_address carries_dependency malloc
    alloc_size assume_aligned""".split()
)


def is_of_the_host(word):
    """True for a macro that a compiler defines, and another compiler does not, or otherwise."""
    return bool(_HOST_MACRO.fullmatch(word)) and not _LIKE_A_NUMBER.fullmatch(word)
