"""Lines that are doubtful in the answers to one exercise: (pattern of a line, what it does)."""

# Lines of a lesson's kernel of 8 bits, which the exercise asks for with 4.
_OF_EIGHT_BITS = (
    (
        r"\bceil_div\(\s*K\s*,\s*128\s*\)|\bK\s*\+\s*127\b"
        r"|[tT](?:ile|ILE)\w*\s*[*=]\s*128\b|(?<![*/.] )\b128\s*\*\s*\w*[tT](?:ile|ILE)",
        "at 8 bits a tile is 128 wide; a word of 4-bit codes has 8 of them, for 32 lanes",
    ),
    (r"word\s*>>\s*24\b|&\s*(255|0x[fF]{2})\b", "this takes 8 bits of the word; a code has 4"),
)
_OF_ROWS = (
    (r"\bi\s*[/%]\s*N\b", "a row has K elements: i / K is the row, and i % K the column"),
    (
        r"\*\s*\(?\s*1\.0*f?\s*/\s*K\b",
        "1.0f / K is rounded, so that the product may end below a whole number: i / K is exact",
    ),
)
_OF_PAIRS = (
    (r"<<\s*4\s*\)?\s*&", "& keeps the bits that both have, here none: | puts them together"),
)
_OF_PLANES = (
    (
        r"\bword\.low\s*>>\s*\(\s*30\s*-|uint32_t\s+\w+\s*=\s*word\.low\s*;",
        "the low plane has 64 bits, 32 codes of two: its first code begins at bit 62",
    ),
    (
        r"\bword\.low\s*>>[^&%;\[]*\bj\b[^&%;]*;",
        "nothing masks it on this line: without & 3 the codes above it stay in",
    ),
    (
        r"\bword\.high\s*>>[^&%;\[]*\bj\b[^&%;]*;",
        "nothing masks it on this line: without & 1 the codes above it stay in",
    ),
)
OF_GROUPS = (
    (r"\bint\s+\w+\s*=\s*scales\[", "the scale is put in an integer, which cuts off its fraction"),
    (
        r"\bdequant_dot\(\s*word\s*<<\s*j\s*,",
        "the word moves by j bits here: from_code(word, j) moves it by j codes",
    ),
    (
        r"\bword\s*>>[^&%;\[]*\bj\b[^&%;]*;",
        "nothing masks it on this line: without & CODE_MASK the codes above it stay in",
    ),
    (
        r"\bk\s*\+\s*(threadIdx|lane)|\b(threadIdx\.x\s*%\s*\w+|lane)\s*\+\s*k\b",
        "k is that of the lane's code 0 already: the lane is not added again",
    ),
    (
        r"\bword_in_row\s*\+\s*j\b",
        "word_in_row counts words, and GROUP_SIZE codes: k is that of the word's code 0",
    ),
)
_OF_FOUR_BITS = (
    (
        r"\bword\s*>>\s*\(\s*(7|28|31)\s*-\s*j\b",
        "the shift moves by 1 from code to code, and a code has 4 bits",
    ),
    (
        r"\bwarp_reduce_sum\(",
        "this function gives the sum of one lane's word: the kernel adds up the lanes at its end",
    ),
)
OF_EXERCISE = {
    **dict.fromkeys(("fused_gemv", "climb"), _OF_EIGHT_BITS),
    **dict.fromkeys(("scaled_dot", "bug_2", "bug_3"), OF_GROUPS),
    "dequant_dot_4bit": (*_OF_EIGHT_BITS, *_OF_FOUR_BITS),
    "cuda_row_column": _OF_ROWS,
    "cuda_pack": _OF_PAIRS,
    "cuda_row_sum": ((r"\bsum\s*\*=", "sum begins at 0, and 0 times anything is 0: += adds"),),
    "dequant_dot_planes": _OF_PLANES,
}
