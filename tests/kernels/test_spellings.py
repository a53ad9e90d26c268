"""No spelling hides from the rules what may not stand in a learner's text: 20 of each class."""

import contextlib
import re
import time

import pytest
from cuda_probes import HOLE, KERNEL

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.other_macros import RENAMED_HERE, is_another_macro
from gemlite_edu.runners import simulator

SIGNATURE = f"__device__ float {HOLE}(uint32_t word, const X_T* x, float zero)"


def refusal(before="", inside=""):
    text = f"{before}\n{SIGNATURE} {{\n  float sum = zero;\n{inside}\n  return sum;\n}}\n"
    try:
        sources.expand(KERNEL, {HOLE: text})
    except KernelTextError as error:
        return str(error)
    return ""


def spellings_of_a_directive(name, rest):
    """A directive as compilers read it, however it is written."""
    half = len(name) // 2
    hashes = [
        "#",
        "%:",
        "# ",
        " #",
        "\t#\t",
        "\f#",
        "/* a */#",
        "#/* a */",
        "#/*\n*/",
        "%: ",
        "\\\n#",
    ]
    hashes += [
        "#\\\n",
        "%\\\n:",
        "%:/**/",
        "  /* \n */ %:\t",
        "/**//**/#",
        "#\v",
        "\\ \n#",
        "#/**/\\\n",
    ]
    whole = [f"{sign}{name} {rest}" for sign in hashes]
    split = f"{name[:half]}\\\n{name[half:]}"
    return [
        *whole,
        f"#{split} {rest}",
        f"#{name}/**/{rest}",
        f"#{name} \\\n{rest}",
        f"#{name}\t{rest}",
    ]


def as_word(word):
    """Ways to write a word in code, as (before the function, in place of the word)."""
    half, third = len(word) // 2, len(word) // 3
    a, b = word[:half], word[half:]
    c, d, e = word[:third], word[third : 2 * third], word[2 * third :]
    paste = "#define P(a, b) a##b\n"
    return [
        ("", word),
        ("", f"{a}\\\n{b}"),
        ("", f"{a}\\ \t\n{b}"),
        ("", f"{c}\\\n{d}\\\n{e}"),
        ("", f"/* a */{word}/* b */"),
        ("", f"// a\n{word}"),
        (f"#define MINE {word}", "MINE"),
        (f"%:define MINE {word}", "MINE"),
        (f"#define MINE \\\n {word}", "MINE"),
        (f"#define MINE {a}\\\n{b}", "MINE"),
        (f"#define YOURS {word}\n#define MINE YOURS", "MINE"),
        (f"#define MINE() {word}", "MINE()"),
        (f"#define MINE(a) a {word}", "MINE()"),
        ("#define SAME(a) a", f"SAME({word})"),
        ("#define LIST(...) __VA_ARGS__", f"LIST({word})"),
        (paste, f"P({a}, {b})"),
        (paste + "#define Q(a, b) P(a, b)", f"Q({a}, {b})"),
        (paste + "#define Q P", f"Q({a}, {b})"),
        (f"#define MINE {a}##{b}", "MINE"),
        ("#define P3(a, b, c) a##b##c", f"P3({c}, {d}, {e})"),
        (paste + f"#define LEFT {a}\n#define Q(a, b) P(a, b)", f"Q(LEFT, {b})"),
        (f"#undef MINE\n#define MINE 3\n#undef MINE\n#define MINE {word}", "MINE"),
        (f"#ifdef DEBUG\n#define MINE 3\n#else\n#define MINE {word}\n#endif", "MINE"),
        (f"#if W_NBITS == 4\n#define MINE {word}\n#else\n#define MINE 3\n#endif", "MINE"),
    ]


DIRECTIVES = {
    "include": "<stdlib.h>",
    "import": "<stdlib.h>",
    "include_next": "<stdlib.h>",
    "line": '3 "gemv.cuh"',
    "pragma": 'GCC optimize("fast-math")',
    "define": "float double",
    "undef": "W_NBITS",
}


@pytest.mark.parametrize("name", DIRECTIVES)
def test_a_directive_is_refused_in_every_spelling(name):
    passed = [
        text
        for text in spellings_of_a_directive(name, DIRECTIVES[name])
        if not refusal(before=text)
    ]
    assert passed == []


WORDS = {
    "thread_local": "{} int kept = 0; sum += kept;",
    "throw": "if (word == 7) {} 1;",
    "catch": "try {{}} {} (...) {{}}",
    "typeid": "sum += {}(zero) == {}(zero);",
    "dynamic_cast": "sum += {}<int*>(&sum) == 0;",
    "system": '{}("true");',
    "exit": "{}(1);",
    "getenv": '{}("HOME");',
    "__builtin_bswap32": "sum += {}(word);",
    "__builtin_ctz": "sum += {}(word);",
    "__atomic_load_n": "sum += {}(&sum, 0);",
    "_Float16": "{} v = zero; sum += v;",
    "sim_exchange": "sum += {}(1, 2, 3);",
    "__SANITIZE_THREAD__": "sum += {};",
    "__GNUC__": "sum += {};",
    "__NVCC__": "sum += {};",
    "__CUDACC__": "sum += {};",
    "asm": '{}("nop");',
    "__asm__": '{} volatile("nop");',
    "stdout": "fputs(nullptr, {});",
    "__thread": "static {} int kept;",
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_refused_in_every_spelling(word):
    passed = [
        (before, spelling)
        for before, spelling in as_word(word)
        if not refusal(before, WORDS[word].replace("{}", f" {spelling} ").replace("{{", "{"))
    ]
    assert passed == []


CONDITIONS = """SIM_VECTOR2 sim_here __SANITIZE_THREAD__ __GNUC__ __NVCC__ __OPTIMIZE__ __x86_64__
__linux__ __has_builtin __has_include threadIdx min CUDART_VERSION FLT_MAX INT_MAX assert __CUDA__
__clang__ __COUNTER__ __ELF__""".split()


@pytest.mark.parametrize("word", CONDITIONS)
def test_no_line_depends_on_who_compiles_it(word):
    forms = [
        "#ifdef {}", "#ifndef {}", "#if defined({})", "#if defined {}", "#if !defined({})",
        "#if {}",
        "#if 1 && defined({})", "#if W_NBITS == 4 || defined({})", "%:ifdef {}", "#ifdef \\\n{}",
        "#if 1\n#elif defined({})", "#define MINE defined({})\n#if MINE", "# /* a */ ifdef {}",
    ]  # fmt: skip
    passed = [f for f in forms if not refusal(inside=f.format(word) + "\nsum = 0;\n#endif\n")]
    assert passed == []


@pytest.mark.parametrize("guard", ["__CUDA_ARCH__", "__CUDACC__"])
@pytest.mark.parametrize(
    "form",
    [
        "#ifdef {0}\n sum = 1;\n#endif",
        "#ifdef {0}\n sum = 1;\n#else\n sum = 2;\n#endif",
        "#ifndef {0}\n sum = 1;\n#else\n sum = 2;\n#endif",
        "#if defined({0})\n sum = 1;\n#endif",
        "#if !defined({0})\n sum = 1;\n#else\n sum = 2;\n#endif",
        "#if defined({0}) && W_NBITS == 4\n asm();\n#endif",
        "#ifdef {0}\n asm();\n#elif W_NBITS == 4\n sum = 1;\n#endif",
        "#if W_NBITS == 4\n sum = 1;\n#elif defined({0})\n asm();\n#endif",
        "#ifdef {0}\n// asm\n sum = 1;\n#endif",
        '#ifdef {0}\n sum += "asm"[0];\n#endif',
        "#ifdef {0}\n#define A 3\n#endif",
        "#define ON {0}\n#ifdef ON\n#endif",
        "#define ON defined({0})\n#if ON\n asm();\n#endif",
        "sum += {0};",
    ],
)
def test_a_guard_is_for_asm_alone(guard, form):
    assert refusal(inside=form.format(guard))


DOUBLING = "".join(f"#define D{i} D{i + 1} D{i + 1}\n" for i in range(40)) + "D0\n"


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "must define the function"),
        ("\0", "a character that no file of text can have"),
        ("\ud800", "a character that no file of text can have"),
        ('"', "opens a quote that nothing closes"),
        ("'", "opens a quote that nothing closes"),
        ('R"x(', "opens a raw string that nothing closes"),
        ('R"x(a)" x"', "opens a raw string that nothing closes"),
        ('R"(a\\\n)"', "a raw string with a backslash"),
        ("/*", "opens a comment that no"),
        ("`", "a sign that C\\+\\+ does not have: '`'"),
        ("\r a", "a sign that C\\+\\+ does not have"),
        ("\\ a", "a sign that C\\+\\+ does not have"),
        ("#if 1", "an #if without its #endif"),
        ("%:ifdef A", "an #ifdef without its #endif"),
        (DOUBLING, "more than 200,000 words"),
    ],
)
def test_an_odd_text_is_refused_in_one_sentence(text, sentence):
    function = f"{SIGNATURE} {{ return zero; }}\n" if text else ""
    with pytest.raises(KernelTextError, match=sentence):
        sources.expand(KERNEL, {HOLE: function + text + "\n"})


LONG = ["(", '"', "#if 1\n", "template <", 'R"(', "[", "__attribute__((", "__shared__ ", "static "]
LONG += ["#define A(a) a\nA(", "#define A(a) a a\nA(A(A(A(A(A(A(A(", "{struct A {", "struct A {"]


@pytest.mark.parametrize("piece", LONG)
def test_a_long_text_is_judged_quickly(piece):
    pieces = piece * (20_000 // len(piece))
    closed = pieces + "};" * 2000 if piece.endswith("{") else pieces
    start = time.process_time()
    for text in (pieces, f"{SIGNATURE} {{ return zero; }}\n{closed}"[:50_000]):
        with contextlib.suppress(KernelTextError):
            sources.expand(KERNEL, {HOLE: text})
    assert time.process_time() - start < 10


def test_a_text_that_is_too_long_is_refused():
    with pytest.raises(KernelTextError, match="has 1,000,000 characters; 50,000 is the most"):
        sources.expand(KERNEL, {HOLE: "a" * 1_000_000})


PASTE = "#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n"
STRINGS = "#define STR_(a) #a\n#define STR(a) STR_(a)\n"
GLUED = ["CAT(__CUDA_, ARCH__)", "CAT(__SANITIZE_, THREAD__)", "CAT(__OPTI, MIZE__)"]
MADE_HERE = ["__shared__", "__device__", "__constant__", "threadIdx", "blockIdx", "assert"]


@pytest.mark.parametrize("glued", [*GLUED, "__SANITIZE_THREAD__", "__OPTIMIZE__", "__CUDACC__"])
def test_no_macro_makes_another_text_on_a_gpu(glued):
    picks = "#define pick_1(a) a\n#define pick___OPTIMIZE__(a) 0\n"
    assert "not the same here" in refusal(f"{PASTE}{picks}", f"sum = CAT(pick_, {glued})(sum);")
    assert "not the same here" in refusal(f"{PASTE}{STRINGS}", f"sum += sizeof(STR({glued})) > 9;")


@pytest.mark.parametrize("glued", GLUED)
def test_no_condition_pastes_its_question(glued):
    text = f"{PASTE}#define ON_GPU {glued}\n#define ASKED ON_GPU\n#if ASKED\n#define LOST\n#endif\n"
    assert "must not ask for ASKED" in refusal(text)


@pytest.mark.parametrize("word", MADE_HERE)
def test_no_string_holds_a_word_that_the_simulator_expands(word):
    assert "not the same here and on a GPU" in refusal(STRINGS, f"sum += sizeof(STR({word})) > 20;")


def test_names_of_its_own_may_be_pasted_and_made_strings():
    text = f"{PASTE}{STRINGS}__device__ float add_one(float a) {{ return a + 1; }}\n"
    assert refusal(text, 'sum = CAT(add_, one)(sum); printf(STR(sum) " %f", sum);') == ""


PICK = """#define SECOND(a, b, ...) b
#define IS_EMPTY(...) SECOND(__VA_ARGS__, 1u, 0u)
#define GOT(y) ~, 0u
#define CALL(x) IS_EMPTY(GOT x (1))
#define SAME(a) a
#define AGAIN(a) SAME(SAME(a))
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REST(a, ...) IS_EMPTY(__VA_ARGS__)
#define MINE {word}
#define THEIRS MINE
#define MADE() {word}
#define LATE GOT MINE (1)
#define OPEN CALL(
#define pick_ 1u +
"""
QUESTIONS = """CALL({}) | IS_EMPTY({}) | CALL( {} ) | CALL(SAME({})) | CALL(MINE) | CALL(THEIRS)
CALL(MADE()) | IS_EMPTY(LATE) | OPEN {}) | OPEN MINE) | REST(0, {}) | REST(0, MINE) | AGAIN(MINE)
SAME(GOT {} (1)) | CALL(/**/{}) | CALL(PASTE({}, )) | PASTE(pick_, {}) 0u | PASTE(pick_, MINE) 0u
SAME(CALL)({}) | CALL({} {}) | SAME(CALL(MINE)) | PASTE(CA, LL)({})"""
SOME_QUESTIONS = "CALL({}) | IS_EMPTY(LATE)"
OTHERWISE = """__host__ __global__ __noinline__ __forceinline__ __shared__ __constant__ __restrict__
__align__(4) __managed__ __grid_constant__ __inline_hint__ __maxnreg__(64) __location__(device)
cudaDeviceMapHost NV_IS_DEVICE CUDART_VERSION isascii __CUDA_RUNTIME_H__ KERNEL _BITS_STDIO_H
__USE_EXTERN_INLINES""".split()


@pytest.mark.parametrize(
    "word, questions",
    [("__device__", QUESTIONS), ("__launch_bounds__(4)", QUESTIONS)]
    + [(word, SOME_QUESTIONS) for word in OTHERWISE],
)
def test_no_macro_tells_whether_a_word_is_empty_here(word, questions):
    before = PICK.replace("{word}", word)
    asked = [question.strip() for question in re.split(r"[|\n]", questions)]
    passed = [q for q in asked if not refusal(before, f"sum += {q.replace('{}', word)};")]
    assert passed == []


def test_every_macro_of_the_simulator_is_known_to_be_another_one_under_nvcc():
    shim = simulator.build.SHIM
    names = {
        n for h in shim.glob("*.h") for n in re.findall(r"^#define (\w+)", h.read_text(), re.M)
    }
    others = [n for n in names if not n.startswith(("SIM_", "sim_", "__is_", "CUDART_"))]
    assert [n for n in others if not (is_another_macro(n) or n in RENAMED_HERE)] == []


@pytest.mark.parametrize("word", ["threadIdx", "blockDim"])
def test_a_place_may_be_given_to_a_macro_and_not_pasted(word):
    paste = "#define P_(a, b) a##b\n#define P(a, b) P_(a, b)\n#define TWICE(a) (2 * (a))\n"
    assert refusal(paste, f"sum += TWICE({word}.x);") == ""
    assert "pastes" in refusal(paste, f"sum += P(pick_, {word}).x;")


@pytest.mark.parametrize(
    "before, inside",
    [
        ("#define Z (zero) + typeid(0)", "Z;"),
        ("#define F(a, ...) SECOND(a, ##__VA_ARGS__, typeid(0))", "F(1);"),
        ("#define F(a, b) a##b typeid(0)", "F(zero +, );"),
        ("#define LEFT\n#define F(b) LEFT##b typeid(0)", "F();"),
        ("#define F(a...) SECOND(a, 0)", "F(1);"),
        ("#define F(a, ...) SECOND(a __VA_OPT__(, typeid(0)), 0)", "F(1, 2);"),
        ("#define F(...) 0 __VA_OPT__(+ 1)", "F();"),
    ],
)
def test_no_macro_hides_a_word_from_the_rules(before, inside):
    assert refusal(f"#define SECOND(a, b, ...) b\n{before}", f"sum += {inside}")


def test_macros_with_a_comma_of_nothing_or_an_empty_side_are_expanded_as_compilers_do():
    before = "#define ADD(a, ...) add(a, ##__VA_ARGS__)\n#define GLUED(a, b) a##b\n"
    before += "__device__ float add(float a) { return a; }\n#define TWO (1 + 1)\n"
    assert refusal(before, "sum += ADD(zero) + GLUED(sum, ) + TWO;") == ""


@pytest.mark.parametrize("word", ["CUDART_VERSION", "__OPTIMIZE__", "KERNEL", "_BITS_STDIO_H"])
def test_no_condition_asks_who_compiles_through_macros(word):
    before = f"#define MINE {word}\n#define YOURS MINE\n"
    for condition in (f"#ifdef {word}", "#if MINE", "#if 0\n#elif YOURS > 3", "#if 1 + YOURS"):
        assert refusal(before, f"{condition}\nsum = 0;\n#endif\n")
