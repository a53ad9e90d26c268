"""What to do about the compiler errors of a first C program, often one thought of in Python."""

import re

# (pattern of a compiler's message and the learner's line below it, what to do); the first counts.
_ADVICE = (
    (r"expected .*';'.*\n.*\belse\b", "C writes a choice as `condition ? this : that`"),
    (
        r"expected.*\n.*[\w\])]\s*//\s*[\w(]",
        "a statement ends with a semicolon, and // begins a comment: ints divide with /",
    ),
    (r"expected '\('.*\n.*\brange\b", "a loop in C: for (int k = 0; k < N; ++k) { ... }"),
    (
        r"expected '\('.*\n.*static_cast",
        "static_cast<float>(n): what it converts is in parentheses",
    ),
    (r"expected '\('", "C puts the condition of an if or a loop in parentheses: if (i < N)"),
    (r"expected.*\n.*\bif\s*\(.*\)\s*:", "C has no colon there: if (i < N) { ... }"),
    (r"expected.*\n.*\bfor\s*\(.*,", "the parts of a for are divided by semicolons, not by commas"),
    (r"expected .*';'", "a statement ends with a semicolon"),
    (r"expected '\)'", "count the parentheses that open and close"),
    (r"'(True|False|None)' was not declared", "C writes true and false, and has no None"),
    (r"'len' was not declared", "a pointer knows no length: the kernel gets it as a number"),
    (r"'print' was not declared", 'CUDA prints with printf("%d\\n", i)'),
    (r"'elif' was not declared", "C writes else if"),
    (r"'range' was not declared", "a loop in C: for (int k = 0; k < N; ++k) { ... }"),
    (r"'to_float' was not", "here static_cast<float>(...) makes a float"),
    (
        r"'(\w+)' was not declared in this scope\n(?:for\s*\(\s*)?\1\s*=[^=]",
        "the line that makes a variable says its type: int i = 0, float sum = 0.0f",
    ),
    (
        r"'u?int(8|16|32|64)'",
        "a whole number of 32 bits is an int, or without a sign a uint32_t",
    ),
    (
        r"was not declared in this scope$",
        "nothing of that name exists here: look at the spelling, and at the braces around the line "
        "that makes it",
    ),
    (r"numeric literal operator", "C has no product without its sign: write 2 * i"),
    (
        r"does not name a type\n.*\b__shared__\s+\w+\s*\[",
        "the type is missing: __shared__ float a[8][9], without extern where the size is known",
    ),
    (
        r"variable length array.*\n.*\]\s*=",
        "a type before it declares a new array: an element is written without, y[i] = ...",
    ),
    (r"variable length array", "CUDA needs the length of an array as a constant"),
    (r"invalid 'static_cast'.*\n.*pair_at\(", "pair_at takes an address: &x[i]"),
    (r"(reference|convert|bind).*\n.*\bmma\(", "mma takes c, a and b, in this order"),
    (r"uint3.*dim3|dim3.*uint3", "take one direction of each: blockIdx.x, threadIdx.x"),
    (r"(uint3|dim3)' has no member", "the directions are .x, .y and .z"),
    (
        r"invalid operands of types '[^']*\*'|invalid operands of types '[^']*' and '[^']*\*'",
        "a pointer is the address of all elements: x[i] is one of them",
    ),
    (
        r"conversion from '[^']*\*'.* to.*\n(?:const )?u?int\w* (\w+) = \w+ \+",
        "an address goes into a pointer: the * stands behind its type, const uint32_t* row",
    ),
    (r"conversion from '[^']*\*'.* to", "a pointer is no number: x[i] is one of its elements"),
    (
        r"cannot convert '[^']*\*' to '(float|int|uint32_t|half)'",
        "a pointer is the address of all elements: x[i] is one of them",
    ),
    (r"no match for 'operator.*'Word'", "it takes one of the two: word.low or word.high"),
    (
        r"no matching function for call to '__shfl",
        "a shuffle takes the mask, the value and the distance: (0xffffffff, value, 16)",
    ),
    (r"to binary 'operator(%|<<|>>|&|\||\^)'", "only whole numbers have %, <<, >>, & and |"),
    (r"unary '\*'.*\n.*\*\*", "C has no **: multiply, or shift 1 to the left for a power of two"),
    (
        r"cannot convert '[^*]*' to '[^']*\*'(?! in assignment)",
        "x[i] is an element, and its address is &x[i]",
    ),
    (
        r"cannot convert '[^']*\*' to '[^']*\*'",
        "a pointer has the type of what it points at: convert its elements, not the address",
    ),
    (
        r"invalid conversion from '(int|unsigned int)' to '[^']*\*'",
        "a number stands where an address is asked for: compare the arguments with the function's",
    ),
    (
        r"no matching function for call to '\w+\([^']*\*&?\)'",
        "a pointer is the address of all elements: x[i] is one of them",
    ),
    (
        r"cannot convert '[^*]*' to '[^']*\*'",
        "a pointer is the address of all elements: write one of them, y[i] = ...",
    ),
    (r"cannot be used as a function", "an element is in square brackets: x[i]"),
    (
        r"invalid types '[^']*\*[^']*\[(const )?(float|double)\]'",
        "an index is a whole number: make it an int",
    ),
    (
        r"invalid types '(const )?(float|int|unsigned int|double)\[",
        "only one index fits: a row and a column make it row * K + column",
    ),
    (r"invalid preprocessing directive", "a comment in C begins with //"),
    (r"request for member .* non-class type", "C has no methods of numbers and pointers"),
    (r"expected unqualified-id before.*\n.*\.\w+\(", "C has no methods of numbers and pointers"),
    (r"return-statement with a value", "a kernel returns nothing: it writes into its output"),
    (r"read-only.*\n.*\bif\s*\([^=()]*[^=!<>()]=[^=]", "= assigns; == asks whether two are equal"),
    (r"read-only", "const means that it is never changed"),
)


def advice_on_first_mistake(message, line):
    """What to do about a compiler's message on this line of a learner's kernel; None if unknown."""
    both = f"{message}\n{line}"
    found = (advice for pattern, advice in _ADVICE if re.search(pattern, both, re.MULTILINE))
    return next(found, None)


def line_without_its_end(message, lines, number):
    """The number of the line that misses its semicolon, where the message is on the one behind it.

    lines: of the text. number: the line that the compiler names, from 1.
    """
    found = re.search(r"expected '[,;]'(?: or '[,;]')? before '(.+?)'", message)
    if not found or not lines[number - 1].lstrip().startswith(found[1]):
        return number
    before = (n for n in range(number - 1, 0, -1) if lines[n - 1].strip())
    return next(before, number)
