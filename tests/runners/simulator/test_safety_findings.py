"""Faulty kernels: each fault is a finding that names who, what and the line.

`// HERE` marks the line a finding belongs to, `// THERE` the other line of a pair.
"""

import re

import pytest
import torch

LOADED = "__shared__ float a[64]; a[t] = x[t]; __syncthreads();"
VECTORS = (
    "__shared__ __align__(16) float a[72]; a[t] = 1; if (t < 8) a[64 + t] = 1; __syncthreads();"
)
WRITTEN = "y[t] = 0;"


def place(text, mark="HERE"):
    (line,) = [i for i, line in enumerate(text.splitlines(), 1) if line.endswith(f"// {mark}")]
    return f"kernel.cpp:{line}"


def says(sentence, word):
    """Whether a word stands in the sentence, and is not the beginning of a longer number."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\d)", sentence) is not None


def assert_at(finding, text, words, mark="HERE"):
    assert finding.place == place(text, mark), finding
    assert finding.code.endswith(f"// {mark}") and finding.code in text, finding
    assert [word for word in words if not says(finding.sentence, word)] == [], finding


def assert_says(finding, text, words, mark="HERE"):
    """The finding stands at the mark and says the words; the block is (0, 0) if they name none."""
    if not any(word.startswith("block") for word in words):
        words = ["block (0, 0)", *words]
    assert_at(finding, text, words, mark)


def assert_only(inspected, words):
    report, text = inspected
    assert len(report.findings) == 1, report.findings
    assert_says(report.findings[0], text, words)
    assert report.findings[0].count >= 1


def assert_only_place(inspected, words):
    report, text = inspected
    assert len({finding.place for finding in report.findings}) == 1, report.findings
    assert_says(report.findings[0], text, words)


def cases(table):
    """{name: (statements, words)} or {name: (statements, words, options)} as parameters."""
    return pytest.mark.parametrize(
        "statements, words, options",
        [(*case, {}) if len(case) == 2 else case for case in table.values()],
        ids=table,
    )


OUTSIDE_A_TENSOR = {
    "read one past": ("y[t] = x[t + 1]; // HERE", ["thread 63", "x[64]", "64"]),
    "read one before": ("y[t] = x[t - 1]; // HERE", ["thread 0", "x[-1]", "64"]),
    "read far past": ("y[t] = x[t == 5 ? 5000 : t]; // HERE", ["thread 5", "x[5000]", "64"]),
    "write one past": (
        "y[t] = 1;\nif (t == 40) y[n] = 2; // HERE",
        ["thread 40", "y[64]", "64"],
    ),
    "write one before": (
        "y[t] = 1;\nif (t == 7) y[t - 8] = 2; // HERE",
        ["thread 7", "y[-1]", "64"],
    ),
    "in a loop": (
        "float sum = 0;\nfor (int i = t; i <= n; i += 64)\n  sum += x[i]; // HERE\ny[t] = sum;",
        ["thread 0", "x[64]", "64"],
    ),
    "in a helper": (
        "y[t] = fetch(x, t + 1);",
        ["thread 63", "x[64]", "64"],
        {"before": "__device__ float fetch(const float* p, int i) {\n  return p[i]; // HERE\n}"},
    ),
    "in a macro": (
        "y[t] = AFTER(x, t); // HERE",
        ["thread 63", "x[64]", "64"],
        {"before": "#define AFTER(p, i) \\\n  p[(i) + 1]"},
    ),
    "in a ternary": (
        "y[t] = t == 17\n  ? x[t + n] // HERE\n  : 0.0f;",
        ["thread 17", "x[81]", "64"],
    ),
    "last block of two dimensions": (
        "const int i = 64 * (blockIdx.y * gridDim.x + blockIdx.x) + t;\ny[i] = x[i]; // HERE",
        ["block (1, 2)", "thread 63", "x[383]", "383"],
        {"x": torch.ones(383), "y": torch.zeros(384), "grid": (2, 3)},
    ),
    "last lane under divergence": (
        "if (t % 32 == 31 && t > 32)\n  y[t] = x[n]; // HERE\nelse\n  y[t] = x[t];",
        ["thread 63", "x[64]", "64"],
    ),
    "vector half outside": (
        "y[t] = 0;\nif (t == 15) {\n  float4 v = ((const float4*)x)[t]; // HERE\n"
        "  y[t] = v.x + v.y + v.z + v.w;\n}",
        ["thread 15", "x", "62"],
        {"x": torch.ones(62)},
    ),
    "half": (
        "y[t] = x[t + 1]; // HERE",
        ["thread 63", "x[64]", "64"],
        {"x": torch.ones(64).half()},
    ),
    "bytes": (
        "y[t] = x[t - 1]; // HERE",
        ["thread 0", "x[-1]", "64"],
        {"x": torch.ones(64).byte()},
    ),
}


@cases(OUTSIDE_A_TENSOR)
def test_reach_outside_a_tensor(inspect, statements, words, options):
    assert_only_place(inspect(statements, **options), words)


def test_a_guard_that_is_off_by_one_is_wrong_at_the_read_and_at_the_write(inspect):
    report, text = inspect(
        "if (t <= n) {\n  float v = x[t]; // HERE\n  y[t] = 2 * v; // THERE\n}",
        x=torch.ones(60),
        y=torch.zeros(60),
        n=60,
    )
    read, write = sorted(report.findings, key=lambda finding: finding.place)
    assert_says(read, text, ["thread 60", "x[60]", "60"])
    assert_says(write, text, ["thread 60", "y[60]", "60"], "THERE")


@pytest.mark.parametrize("name, x, y", [("x", 64, 128), ("y", 128, 64), ("y", 100, 65)])
def test_a_copy_of_too_many_bytes_names_no_element_that_is_inside(inspect, name, x, y):
    report, text = inspect(
        "for (int i = t; i < n; i += 64) y[i] = 0;\n__syncthreads();\n"
        "if (t == 9) memcpy(y, x, 4 * (n < 128 ? n + 1 : 65)); // HERE",
        x=torch.ones(x),
        y=torch.zeros(y),
        n=y,
    )
    assert_only((report, text), ["thread 9", name])
    assert f"{name}[0]" not in report.findings[0].sentence


TWO_ARRAYS = (
    "__shared__ float a[64], b[64]; a[t] = x[t]; b[t] = x[t]; __syncthreads();\n"
    "y[t] = a[t] + b[t];\n"
)
OUTSIDE_SHARED = {
    "write one past": (
        f"{LOADED}\ny[t] = a[63 - t];\nif (t == n - 1) a[t + 1] = 0; // HERE",
        ["thread 63", "a[64]", "64"],
    ),
    "write one before": (
        f"{LOADED}\ny[t] = a[63 - t];\nif (t == n - 1) a[t - 64] = 0; // HERE",
        ["thread 63", "a[-1]", "64"],
    ),
    "read one past": (f"{LOADED}\ny[t] = a[t + 1]; // HERE", ["thread 63", "a[64]", "64"]),
    "read one before": (f"{LOADED}\ny[t] = a[t - 1]; // HERE", ["thread 0", "a[-1]", "64"]),
    "first of two, past": (
        TWO_ARRAYS + "if (t == 9) y[t] = a[n]; // HERE",
        ["thread 9", "a[64]", "64"],
    ),
    "second of two, past": (
        TWO_ARRAYS + "if (t == 9) y[t] = b[n]; // HERE",
        ["thread 9", "b[64]", "64"],
    ),
    "first of two, before": (
        TWO_ARRAYS + "if (t == 9) a[n - 65] = 1; // HERE",
        ["thread 9", "a[-1]", "64"],
    ),
    "second of two, before": (
        TWO_ARRAYS + "if (t == 9) b[n - 65] = 1; // HERE",
        ["thread 9", "b[-1]", "64"],
    ),
    "in a loop with a constant bound": (
        f"{LOADED}\nfloat sum = 0;\nfor (int i = 0; i <= 64; ++i)\n"
        "  sum += a[i]; // HERE\ny[t] = sum;",
        ["thread 0", "a[64]", "64"],
    ),
    "in a helper": (
        f"{LOADED}\ny[t] = fetch(a, t + 1);",
        ["thread 63", "a[64]", "64"],
        {"before": "__device__ float fetch(const float* p, int i) {\n  return p[i]; // HERE\n}"},
    ),
    "in a ternary": (
        f"{LOADED}\ny[t] = t < 63\n  ? a[t] : a[t + 1]; // HERE",
        ["thread 63", "a[64]", "64"],
    ),
    "bytes, at file scope": (
        "if (t < 10) c[t] = t;\n__syncthreads();\ny[t] = c[t % 11]; // HERE",
        ["thread 10", "c[10]", "10"],
        {"before": "__shared__ unsigned char c[10];"},
    ),
    "vectors": (
        "__shared__ float4 v[16];\nif (t < 16) v[t] = ((const float4*)x)[t];\n__syncthreads();\n"
        "float4 w = v[t % 17]; // HERE\ny[t] = w.x + w.y + w.z + w.w;",
        ["thread 16", "v[16]", "16"],
    ),
    "memset": (
        "__shared__ float a[64];\nif (t == 0) memset(a, 0, 4 * n + 4); // HERE\n"
        "__syncthreads();\ny[t] = a[t];",
        ["thread 0", "a"],
    ),
    "two dimensions": (
        "__shared__ float tile[8][8];\ntile[t / 8][t % 8] = x[t];\n__syncthreads();\n"
        "y[t] = tile[t % 8][t / 8];\nif (t == 2) tile[n / 8][0] = 3; // HERE",
        ["thread 2", "tile"],
    ),
}


@cases(OUTSIDE_SHARED)
def test_reach_outside_a_shared_array(inspect, statements, words, options):
    assert_only_place(inspect(statements, **options), words)


OUTSIDE_DYNAMIC = {
    "write one past": (
        "extern __shared__ float a[];\na[t] = x[t];\n__syncthreads();\ny[t] = a[63 - t];\n"
        "if (t == 3) a[n] = 1; // HERE",
        ["thread 3", "a[64]", "64"],
        {"shared_bytes": 256},
    ),
    "write one before": (
        "extern __shared__ float a[];\na[t] = x[t];\n__syncthreads();\ny[t] = a[63 - t];\n"
        "if (t == 3) a[n - 65] = 1; // HERE",
        ["thread 3", "a[-1]", "64"],
        {"shared_bytes": 256},
    ),
    "read, launch asked for too little": (
        "extern __shared__ float a[];\nif (t < 63) a[t] = x[t];\n__syncthreads();\n"
        "y[t] = a[t]; // HERE",
        ["thread 63", "a[63]", "63"],
        {"shared_bytes": 252},
    ),
    "second part": (
        "extern __shared__ float a[];\nfloat* b = a + 64;\na[t] = x[t];\nb[t] = x[t];\n"
        "__syncthreads();\ny[t] = a[t] + b[t + 1]; // HERE",
        ["thread 63", "a[128]", "128"],
        {"shared_bytes": 512},
    ),
    "none asked for": (
        "extern __shared__ unsigned char a[];\ny[t] = x[t];\nif (t == 33) a[0] = 1; // HERE",
        ["thread 33", "a[0]", "0"],
    ),
    "beside a static array": (
        "extern __shared__ int a[];\n__shared__ float b[64];\nb[t] = x[t];\na[t] = t;\n"
        "__syncthreads();\ny[t] = b[63 - t];\nif (t == 1) y[t] = a[n]; // HERE",
        ["thread 1", "a[64]", "64"],
        {"shared_bytes": 256},
    ),
}


@cases(OUTSIDE_DYNAMIC)
def test_reach_outside_the_dynamic_shared_memory(inspect, statements, words, options):
    assert_only_place(inspect(statements, **options), words)


WRITES_AN_INPUT = {
    "cast": ("y[t] = 1;\nif (t == 4) ((float*)x)[t] = 1; // HERE", ["thread 4", "x[4]"]),
    "swapped in a helper": (
        "y[t] = 1;\nif (t >= 32) put((float*)x, t);",
        ["thread 32", "x[32]"],
        {"before": "__device__ void put(float* to, int i) {\n  to[i] = 2; // HERE\n}"},
    ),
    "accumulated in a loop": (
        "y[t] = 1;\nfor (int i = 0; i < 2; ++i)\n  if (t == 63) ((float*)x)[i + 8] += 1; // HERE",
        ["thread 63", "x[8]"],
    ),
}


@cases(WRITES_AN_INPUT)
def test_a_write_to_an_input(inspect, statements, words, options):
    assert_only(inspect(statements, **options), [*words, "input"])


NO_TENSOR = {
    "null": ("y[t] = 1;\nif (t == 5) *(volatile float*)nullptr = 1; // HERE", ["thread 5", "null"]),
    "null by choice": (
        "const float* p = n == 64 ? nullptr : x;\ny[t] = p[0]; // HERE",
        ["thread 0", "null"],
    ),
    "wild": (
        "y[t] = 1;\nif (t == 34) y[t] = *(volatile float*)0x123456789000; // HERE",
        ["thread 34"],
    ),
    "an integer as a pointer": (
        "y[t] = 1;\nif (t == 34) ((float*)(size_t)n)[0] = 1; // HERE",
        ["thread 34"],
    ),
    "ten million elements away, in a loop": (
        "float sum = 0;\nfor (int i = t; i <= 64; i += 64)\n"
        "  sum += x[i < 64 ? i : i + 10000000]; // HERE\ny[t] = sum;",
        ["thread 0"],
    ),
}


@cases(NO_TENSOR)
def test_a_null_or_wild_pointer(inspect, statements, words, options):
    inspected = inspect(statements, **options)
    assert_only(inspected, words)
    assert inspected[0].y is None


def test_a_fault_in_a_table_stands_at_its_own_line(inspect):
    """Accesses to __constant__ memory are not watched: the compiler's own check finds this one."""
    statements = "const int far = t * 100000000;\ny[t] = TABLE[far]; // HERE"
    table = "__constant__ float TABLE[4] = {1, 2, 3, 4};"
    assert_only(inspect(statements, before=table), ["thread 1", "index 100000000"])


UNWRITTEN_SHARED = {
    "half the block": (
        "__shared__ float a[64];\nif (t < 32) a[t] = x[t];\n__syncthreads();\ny[t] = a[t]; // HERE",
        ["thread 32", "a[32]"],
    ),
    "one element": (
        "__shared__ float a[64];\nif (t != 17) a[t] = x[t];\n__syncthreads();\n"
        "y[t] = a[63 - t]; // HERE",
        ["thread 46", "a[17]"],
    ),
    "before the write": (
        "__shared__ float a[64];\ny[t] = a[t]; // HERE\na[t] = x[t];\n__syncthreads();\n"
        "y[t] += a[63 - t];",
        ["thread 0", "a[0]"],
    ),
    "an accumulator": (
        "__shared__ float a[64];\na[t] += x[t]; // HERE\n__syncthreads();\ny[t] = a[63 - t];",
        ["thread 0", "a[0]"],
    ),
    "written by an earlier block": (
        "__shared__ float a[64];\nif (blockIdx.x == 0) a[t] = x[t];\n__syncthreads();\n"
        "y[64 * blockIdx.x + t] = a[t]; // HERE",
        ["block (1, 0)", "thread 0", "a[0]"],
        {"y": torch.zeros(128), "grid": (2, 1)},
    ),
    "in a loop in a helper": (
        "__shared__ float a[64];\nif (t < 60) a[t] = x[t];\n__syncthreads();\n"
        "y[t] = t == 20 ? sum(a, n) : 0;",
        ["thread 20", "a[60]"],
        {
            "before": "__device__ float sum(const float* p, int n) {\nfloat s = 0;\n"
            "for (int i = 0; i < n; ++i)\n  s += p[i]; // HERE\nreturn s;\n}"
        },
    ),
    "dynamic": (
        "extern __shared__ int a[];\nif (t % 32 != 31) a[t] = t;\n__syncthreads();\n"
        "y[t] = a[t]; // HERE",
        ["thread 31", "a[31]"],
        {"shared_bytes": 256},
    ),
    "an array that nobody writes": (
        "__shared__ float a[64];\ny[t] = a[t]; // HERE",
        ["thread 0", "a[0]"],
    ),
    "a part of a vector": (
        "__shared__ float4 v[64];\nv[t].x = x[t];\nv[t].y = x[t];\nv[t].w = x[t];\n"
        "__syncthreads();\nfloat4 w = v[t]; // HERE\ny[t] = w.x + w.y + w.z + w.w;",
        ["thread 0", "v[0]"],
    ),
}


@cases(UNWRITTEN_SHARED)
def test_a_read_of_shared_memory_that_nobody_wrote(inspect, statements, words, options):
    assert_only(inspect(statements, **options), words)


UNWRITTEN_OUTPUT = {
    "accumulated": ("y[t] += x[t]; // HERE", ["thread 0", "y[0]"]),
    "second warp in a loop": (
        "if (t < 32) y[t] = 0;\nfor (int i = 0; i < n; i += 32)\n  y[t] += x[i]; // HERE",
        ["thread 32", "y[32]"],
    ),
    "last lane": (
        "float before = 0;\nif (t == 63) before = y[t]; // HERE\ny[t] = x[t] + before;",
        ["thread 63", "y[63]"],
    ),
    "in a helper": (
        "add(y + t, x[t]);",
        ["thread 0", "y[0]"],
        {"before": "__device__ void add(float* p, float v) {\n  *p += v; // HERE\n}"},
    ),
}


@cases(UNWRITTEN_OUTPUT)
def test_a_read_of_an_output_that_nobody_wrote(inspect, statements, words, options):
    assert_only(inspect(statements, **options), words)


NEVER_WRITTEN = {
    "last element": ("if (t < n - 1) y[t] = 1;", ["y[63]"], {}),
    "every other": ("if (t % 2 == 0) y[t] = 1;", ["y[1]", "32"], {}),
    "a missing block": (
        "y[64 * blockIdx.x + t] = 1;",
        ["y[128]", "64"],
        {"y": torch.zeros(192), "grid": (2, 1)},
    ),
    "all": ("if (n == 0) y[t] = 1;", ["y[0]", "64"], {}),
    "bytes": ("if (t > 4) y[t] = 1;", ["y[0]", "5"], {"y": torch.zeros(64).byte()}),
}


@cases(NEVER_WRITTEN)
def test_output_elements_that_nobody_wrote(inspect, statements, words, options):
    report, _ = inspect(statements, **options)
    (finding,) = report.findings
    assert (finding.place, finding.code) == ("", "")
    assert [word for word in words if not says(finding.sentence, word)] == []
    assert str(finding) == finding.sentence


def assert_race(inspected, name, is_pair, blocks=("block (0, 0)",)):
    """Every finding is a race at the marked lines, between two threads of which is_pair is true."""
    report, text = inspected
    marks = {place(text, mark) for mark in ("HERE", "THERE") if f"// {mark}" in text}
    assert report.findings
    for finding in report.findings:
        assert finding.place in marks
        assert f"{name}[" in finding.sentence
        assert all(block in finding.sentence for block in blocks), finding
        lines = set(re.findall(r"line (\d+|\?)", finding.sentence))
        assert {f"kernel.cpp:{line}" for line in lines} | {finding.place} == marks, finding
        assert len(lines) == 1
        threads = [int(number) for number in re.findall(r"thread (\d+)", finding.sentence)]
        assert len(threads) == 2
        assert is_pair(*threads) or is_pair(*reversed(threads)), finding


ZEROS = "__shared__ float a[64]; a[t] = 0; __syncthreads();"
PUT = "__device__ void put(float* p, float v) {\n  *p = v; // HERE\n}"
RACES = {
    "write write, warps": (
        f"{ZEROS}\na[t % 32] = x[t]; // HERE\n__syncthreads();\ny[t] = a[t];",
        lambda a, b: b - a == 32,
    ),
    "write write, read back at once": (
        "__shared__ float a[32];\na[t % 32] = x[t]; y[t] = a[t % 32]; // HERE",
        lambda a, b: b - a == 32,
    ),
    "write write, lanes": (
        f"{ZEROS}\na[t / 2] = x[t]; // HERE\n__syncthreads();\ny[t] = a[t];",
        lambda a, b: a // 2 == b // 2 and a != b,
    ),
    "write write, two lines, warps": (
        f"{ZEROS}\nif (t == 3) a[0] = x[t]; // HERE\nif (t == 40) a[0] = -x[t]; // THERE\n"
        "__syncthreads();\ny[t] = a[0];",
        lambda a, b: (a, b) == (3, 40),
    ),
    "write write, loop": (
        f"{ZEROS}\nfor (int i = 0; i < n / 32; ++i)\n  a[(t + i) % 64] = x[t]; // HERE\n"
        "__syncthreads();\ny[t] = a[t];",
        lambda a, b: (b - a) % 64 == 1,
    ),
    "write write, bytes": (
        "__shared__ unsigned char c[64]; c[t] = 0; __syncthreads();\nc[t / 2] = t; // HERE\n"
        "__syncthreads();\ny[t] = c[t];",
        lambda a, b: a // 2 == b // 2 and a != b,
    ),
    "write read, lanes": (
        f"{ZEROS}\na[t] = x[t]; // HERE\ny[t] = a[t ^ 1]; // THERE",
        lambda a, b: a ^ b == 1,
    ),
    "write read, warps": (
        f"{ZEROS}\na[t] = x[t]; // HERE\ny[t] = a[63 - t]; // THERE",
        lambda a, b: a + b == 63,
    ),
    "write read, one writer": (
        f"{ZEROS}\nif (t == 0) a[5] = x[t]; // HERE\ny[t] = a[5]; // THERE",
        lambda a, b: a == 0 and b > 0,
    ),
    "write read, last lane to next warp": (
        f"{ZEROS}\nif (t == 31) a[0] = x[t]; // HERE\ny[t] = t == 32\n  ? a[0] // THERE\n  : 0;",
        lambda a, b: (a, b) == (31, 32),
    ),
    "write read, divergent halves": (
        f"{ZEROS}\ny[t] = 0;\nif (t % 32 < 16)\n  a[t] = x[t]; // HERE\nelse\n"
        "  y[t] = a[t - 16]; // THERE",
        lambda a, b: b - a == 16,
    ),
    "write read, second block": (
        f"{ZEROS}\ny[64 * blockIdx.x + t] = 0;\nif (blockIdx.x == 1) {{\na[t] = x[t]; // HERE\n"
        "y[64 * blockIdx.x + t] = a[(t + 1) % 64]; // THERE\n}",
        lambda a, b: (a - b) % 64 == 1,
        {"y": torch.zeros(128), "grid": (2, 1), "blocks": ("block (1, 0)",)},
    ),
    "write read, dynamic": (
        "extern __shared__ float a[]; a[t] = 0; __syncthreads();\na[t] = x[t]; // HERE\n"
        "y[t] = a[t ^ 32]; // THERE",
        lambda a, b: a ^ b == 32,
        {"shared_bytes": 256},
    ),
    "write read, a vector and a part": (
        "__shared__ float4 v[16]; if (t < 16) v[t] = make_float4(0, 0, 0, 0); __syncthreads();\n"
        "if (t < 16) v[t] = ((const float4*)x)[t]; // HERE\ny[t] = ((float*)v)[t]; // THERE",
        lambda a, b: a == b // 4 and a != b,
    ),
    "write read, macro": (
        f"{ZEROS}\nSWAP(a, t); // HERE",
        lambda a, b: a ^ b == 1,
        {"before": "#define SWAP(p, i) \\\n  p[i] = x[i]; \\\n  y[i] = p[(i) ^ 1]"},
    ),
    "write read, reduction without barriers": (
        f"{LOADED}\nfor (int s = 32; s > 0; s /= 2)\n  if (t < s) a[t] += a[t + s]; // HERE\n"
        "__syncthreads();\ny[t] = a[0];",
        lambda a, b: b - a in (1, 2, 4, 8, 16),
    ),
    "a shuffle is no barrier": (
        f"{ZEROS}\na[t] = x[t]; // HERE\nfloat v = __shfl_sync(0xFFFFFFFFu, x[t], 0);\n"
        "y[t] = v + a[t ^ 1]; // THERE",
        lambda a, b: a ^ b == 1,
    ),
    "a vote is no barrier": (
        f"{ZEROS}\na[t] = x[t]; // HERE\nunsigned v = __ballot_sync(0xFFFFFFFFu, x[t] > 9);\n"
        "y[t] = v + a[t ^ 2]; // THERE",
        lambda a, b: a ^ b == 2,
    ),
    "__syncwarp of the half warps": (
        f"{ZEROS}\na[t] = x[t]; // HERE\n__syncwarp(t % 32 < 16 ? 0xFFFFu : 0xFFFF0000u);\n"
        "y[t] = a[t ^ 16]; // THERE",
        lambda a, b: a ^ b == 16,
    ),
    "__syncwarp between warps": (
        f"{ZEROS}\na[t] = x[t]; // HERE\n__syncwarp();\ny[t] = a[t ^ 32]; // THERE",
        lambda a, b: a ^ b == 32,
    ),
    "read write, lanes": (
        f"{LOADED}\nfloat v = a[t ^ 1]; // HERE\na[t] = v; // THERE\n"
        "__syncthreads();\ny[t] = a[t];",
        lambda a, b: a ^ b == 1,
    ),
    "read write, warps": (
        f"{LOADED}\nfloat v = a[(t + 32) % 64]; // HERE\na[t] = v; // THERE\n__syncthreads();\n"
        "y[t] = a[t];",
        lambda a, b: a ^ b == 32,
    ),
    "read write, next trip of a loop": (
        "__shared__ float a[64]; float sum = 0;\nfor (int i = 0; i < n / 16; ++i) {\n"
        "  a[t] = x[t] + i; // HERE\n  __syncthreads();\n  sum += a[63 - t]; // THERE\n}\n"
        "y[t] = sum;",
        lambda a, b: a + b == 63,
    ),
    "read write, one reader": (
        f"{LOADED}\ny[t] = 0;\nif (t == 50) y[t] = a[7]; // HERE\nif (t == 60) a[7] = 1; // THERE",
        lambda a, b: (a, b) == (50, 60),
    ),
}


@cases(RACES)
def test_a_race_on_shared_memory(inspect, statements, words, options):
    blocks = options.get("blocks", ("block (0, 0)",))
    name = re.search(r"__shared__ [\w ]+ (\w+)\[", statements)[1]
    options = {key: value for key, value in options.items() if key != "blocks"}
    assert_race(inspect(statements, **options), name, words, blocks)


TWO_BLOCKS = ("block (0, 0)", "block (1, 0)")
OUTPUT_RACES = {
    "lanes": (
        "y[t / 2] = x[t]; // HERE",
        lambda a, b: a // 2 == b // 2 and a != b,
        {"y": torch.zeros(32)},
    ),
    "warps": (
        "y[t % 32] = x[t]; // HERE",
        lambda a, b: b - a == 32,
        {"y": torch.zeros(32)},
    ),
    "last lanes": (
        "y[t] = x[t];\nif (t % 32 == 31) y[n] = x[t]; // HERE",
        lambda a, b: (a, b) == (31, 63),
        {"y": torch.zeros(65)},
    ),
    "two lines": (
        "if (t > 0) y[t] = x[t]; // HERE\nif (t == 40) y[39] = y[0] = 1; // THERE",
        lambda a, b: (a, b) == (39, 40),
    ),
    "blocks": (
        "y[t] = x[t]; // HERE",
        lambda a, b: a == b,
        {"grid": (2, 1), "blocks": TWO_BLOCKS},
    ),
    "blocks that overlap, helper": (
        "put(y + 63 * blockIdx.x + t, x[t]);",
        lambda a, b: (a, b) == (0, 63),
        {"y": torch.zeros(127), "before": PUT, "grid": (2, 1), "blocks": TWO_BLOCKS},
    ),
    "blocks of a grid's second dimension, loop": (
        "for (int i = t; i < n; i += 64)\n  y[128 * blockIdx.x + i] = x[i % 64]; // HERE",
        lambda a, b: a == b,
        {
            "y": torch.zeros(256),
            "n": 128,
            "grid": (2, 2),
            "blocks": ("block (0, 0)", "block (0, 1)"),
        },
    ),
    "blocks, two lines, with a barrier": (
        "if (blockIdx.x == 0) y[t] = x[t]; // HERE\n__syncthreads();\n"
        "if (blockIdx.x == 1 && t == 63) y[0] = 5; // THERE",
        lambda a, b: (a, b) == (0, 63),
        {"grid": (2, 1), "blocks": TWO_BLOCKS},
    ),
}


@cases(OUTPUT_RACES)
def test_two_threads_write_one_output_element(inspect, statements, words, options):
    blocks = options.get("blocks", ("block (0, 0)",))
    options = {key: value for key, value in options.items() if key != "blocks"}
    report, text = inspect(statements, **options)
    assert_race((report, text), "y", words, blocks)
    assert all("two threads own one output" in found.sentence for found in report.findings)


LEFT_BEHIND = {
    "half a warp": (f"{WRITTEN}\nif (t >= 40) return;\n__syncthreads(); // HERE\ny[t] = 1;", []),
    "last lane": (f"{WRITTEN}\nif (t == 63) return;\n__syncthreads(); // HERE\ny[t] = 1;", []),
    "in a loop": (
        f"{WRITTEN}\nfor (int i = 0; i < 3; ++i) {{\n  if (i == 1 && t == 50) return;\n"
        "  __syncthreads(); // HERE\n  y[t] = i;\n}",
        [],
    ),
    "in a helper": (
        f"{WRITTEN}\nif (t < 5) return;\nmeet();\ny[t] = 1;",
        [],
        {"before": "__device__ void meet() {\n  __syncthreads(); // HERE\n}"},
    ),
    "second block": (
        "const int i = blockIdx.x * 64 + t;\nif (i >= n) return;\ny[i] = 0;\n"
        "__syncthreads(); // HERE\ny[i] = 1;",
        ["block (1, 0)"],
        {"y": torch.zeros(100), "n": 100, "grid": (2, 1)},
    ),
    "skipped under divergence": (
        f"{WRITTEN}\nif (t % 32 != 9)\n  __syncthreads(); // HERE\ny[t] = 1;",
        [],
    ),
}


@cases(LEFT_BEHIND)
def test_a_barrier_that_part_of_a_warp_never_reaches(inspect, statements, words, options):
    report, text = inspect(statements, **options)
    (finding,) = report.findings
    assert_says(finding, text, words)
    assert re.search(r"thread \d+", finding.sentence)
    assert "__syncthreads" in finding.sentence


TWO_BARRIERS = {
    "if and else": (
        "if (t % 32 < 16) {\n  y[t] = 1;\n  __syncthreads(); // HERE\n  y[t] = 2;\n} else {\n"
        "  __syncthreads(); // THERE\n  y[t] = x[t];\n}",
        [],
    ),
    "last lane leaves a loop": (
        "for (int i = 0; i < 3; ++i) {\n  y[t] = i;\n  if (t == 63 && i == 1) break;\n"
        "  __syncthreads(); // HERE\n}\nif (t == 63) {\n  y[t] = 7;\n  __syncthreads(); // THERE\n"
        "  y[t] = 8;\n}",
        [],
    ),
    "helper": (
        "if (t == 40) {\n  meet();\n  y[t] = 2;\n} else {\n  __syncthreads(); // THERE\n"
        "  y[t] = x[t];\n}",
        [],
        {"before": "__device__ void meet() {\n  __syncthreads(); // HERE\n}"},
    ),
}


@cases(TWO_BARRIERS)
def test_lanes_that_wait_at_two_barriers(inspect, statements, words, options):
    report, text = inspect(statements, **options)
    marks = {place(text, "HERE"), place(text, "THERE")}
    (finding,) = [finding for finding in report.findings if "line" in finding.sentence]
    lines = {f"kernel.cpp:{line}" for line in re.findall(r"line (\d+)", finding.sentence)}
    assert lines | {finding.place} == marks
    assert says(finding.sentence, "block (0, 0)") and "__syncthreads" in finding.sentence
    assert len(set(re.findall(r"thread (\d+)", finding.sentence))) == 2


MEET = "__device__ void meet() {\n  __syncthreads(); // HERE\n}"


def test_lanes_that_wait_in_two_calls_of_a_function(inspect):
    statements = "if (t < 32) {\n  meet();\n  y[t] = 2;\n} else {\n  meet();\n  y[t] = x[t];\n}"
    report, text = inspect(statements, before=MEET)
    (finding,) = report.findings
    assert finding.place == place(text, "HERE")
    assert "waits there in another call of the function" in finding.sentence


def test_all_lanes_may_wait_in_one_call_after_the_other(inspect):
    statements = "meet();\nfor (int i = 0; i < 3; ++i) meet();\nif (t < 32) y[t] = 2;\nmeet();"
    report, _ = inspect(f"{WRITTEN}\n{statements}", before=MEET)
    assert not report.findings


WAITS_FOR_EVER = {
    "shuffle in an if": (
        f"{WRITTEN}\nif (t < 16)\n  y[t] = __shfl_sync(0xFFFFFFFFu, x[t], 3); // HERE",
        0,
    ),
    "__syncwarp in an if": (
        f"{WRITTEN}\nif (t == 40)\n  __syncwarp(); // HERE\n__syncthreads();\ny[t] = 1;",
        1,
    ),
    "vote in a loop": (
        f"{WRITTEN}\nfor (int i = t; i < 72; i += 64)\n"
        "  y[t] += __ballot_sync(0xFFFFFFFFu, x[t] > 3); // HERE\n__syncthreads();\ny[t] += 1;",
        0,
    ),
    "one lane does not": (
        f"{WRITTEN}\nif (t != 63)\n  y[t] = __shfl_down_sync(0xFFFFFFFFu, x[t], 1); // HERE\n"
        "__syncthreads();\ny[t] += 1;",
        1,
    ),
    "helper, second block": (
        "y[64 * blockIdx.x + t] = 0;\nif (64 * blockIdx.x + t < 100)\n"
        "  y[64 * blockIdx.x + t] = sum(x[t]);",
        1,
        {
            "block": "block (1, 0)",
            "y": torch.zeros(128),
            "grid": (2, 1),
            "before": "__device__ float sum(float v) {\n"
            "  return v + __shfl_xor_sync(0xFFFFFFFFu, v, 1); // HERE\n}",
        },
    ),
    "a half mask": (
        f"{WRITTEN}\nif (t < 8)\n  __syncwarp(0xFFFFu); // HERE\n__syncthreads();\ny[t] = 1;",
        0,
    ),
}


@cases(WAITS_FOR_EVER)
def test_lanes_that_wait_for_ever(inspect, statements, words, options):
    block = options.get("block", "block (0, 0)")
    options = {key: value for key, value in options.items() if key != "block"}
    report, text = inspect(statements, **options)
    assert_only((report, text), [block])
    sentence = report.findings[0].sentence
    thread, lane = (
        re.search(r"thread (\d+)", sentence),
        re.search(r"warp (\d+).* lane \d+", sentence),
    )
    assert words == (int(thread[1]) // 32 if thread else int(lane[1]))


def test_half_a_warp_at_a_barrier_and_half_at_a_shuffle(inspect):
    report, text = inspect(
        f"{WRITTEN}\nif (t < 16)\n  __syncthreads(); // HERE\nelse\n"
        "  y[t] = __shfl_sync(0xFFFFFFFFu, x[t], 20); // THERE"
    )
    assert report.findings[0].place in (place(text, "HERE"), place(text, "THERE"))
    assert "block (0, 0)" in report.findings[0].sentence


OUTSIDE_THE_MASK = {
    "shuffle": ("y[t] = __shfl_sync(0xFFFFu, x[t], 0); // HERE", ["thread 16", "0xffff"]),
    "__syncwarp": (
        f"{WRITTEN}\nif (t == 40)\n  __syncwarp(1u << 9); // HERE\ny[t] = 1;",
        ["thread 40", "0x200"],
    ),
    "vote in a helper": (
        f"{WRITTEN}\nif (t >= 63) y[t] = vote(x[t] > 3);",
        ["thread 63", "0x7fffffff"],
        {"before": "__device__ int vote(int p) {\n  return __any_sync(0x7FFFFFFFu, p); // HERE\n}"},
    ),
}


@cases(OUTSIDE_THE_MASK)
def test_a_lane_outside_the_mask(inspect, statements, words, options):
    inspected = inspect(statements, **options)
    assert_only(inspected, [words[0], "mask"])
    assert words[1] in inspected[0].findings[0].sentence.lower()


STORES = "if (t == 0) y[0] = 0;\n"
MISALIGNED = {
    "float2": (
        "float2 v = *(const float2*)(x + t); // HERE\ny[t] = v.x + v.y;",
        ["thread 1", "x", "8"],
    ),
    "float4": (
        "float4 v = *(const float4*)(x + t); // HERE\ny[t] = v.x + v.y + v.z + v.w;",
        ["thread 1", "x", "16"],
    ),
    "float4 copied whole": (
        "y[t] = 0;\n__syncthreads();\n"
        "if (t == 5) *(float4*)y = *(const float4*)(x + n - 2); // HERE",
        ["thread 5", "x", "16"],
    ),
    "4 bytes of chars": (
        "const char* p = (const char*)x;\ny[t] = *(const float*)(p + t); // HERE",
        ["thread 1", "x", "4"],
    ),
    "half in a loop": (
        "float s = 0;\nfor (int i = 0; i < 2; ++i)\n"
        "  s += __half2float(*(const half*)((const char*)x + 8 * t + i)); // HERE\ny[t] = s;",
        ["thread 0", "x", "2"],
        {"x": torch.ones(256)},
    ),
    "store of float2": (
        STORES + "*(float2*)(y + 1 + 2 * t) = make_float2(x[t], 1); // HERE",
        ["thread 0", "y", "8"],
        {"y": torch.zeros(129)},
    ),
    "store of float4 in a helper": (
        STORES + "if (t < 16) put4(y + 1 + 4 * t, x[t]);",
        ["thread 0", "y", "16"],
        {
            "y": torch.zeros(65),
            "before": "__device__ void put4(float* p, float v) {\n"
            "  *(float4*)p = make_float4(v, v, v, v); // HERE\n}",
        },
    ),
    "shared float4": (
        f"{VECTORS}\nfloat4 v = *(float4*)(a + t); // HERE\ny[t] = v.x + v.y + v.z + v.w;",
        ["thread 1", "a", "16"],
    ),
    "shared uint4, a store": (
        f"{VECTORS}\nif (t == 2) *(uint4*)(a + n - 63) = make_uint4(1, 2, 3, 4); // HERE\n"
        "__syncthreads();\ny[t] = a[t];",
        ["thread 2", "a", "16"],
    ),
    "shared bytes": (
        "__shared__ __align__(16) unsigned char c[68]; c[t] = 0; if (t < 4) c[64 + t] = 0;\n"
        "__syncthreads();\ny[t] = *(unsigned*)(c + t); // HERE",
        ["thread 1", "c", "4"],
    ),
    "dynamic float2": (
        "extern __shared__ float a[]; a[t] = x[t]; if (t == 0) a[64] = 0; __syncthreads();\n"
        "float2 v = *(float2*)(a + t); // HERE\ny[t] = v.x + v.y;",
        ["thread 1", "a", "8"],
        {"shared_bytes": 260},
    ),
}


@cases(MISALIGNED)
def test_a_misaligned_access(inspect, statements, words, options):
    assert_only(inspect(statements, **{"x": torch.ones(68)} | options), words)


ENDLESS = {
    "while": (f"{WRITTEN}\nvolatile int go = 1;\nwhile (go) ; // HERE", []),
    "a step that does not move": (
        f"{WRITTEN}\nfor (int i = t; i < n; i *= 2) y[t] += x[i]; // HERE",
        [],
    ),
    "one lane in a helper": (
        f"{WRITTEN}\nif (t == 45) y[t] = wait(&n);",
        ["thread 45"],
        {
            "before": "__device__ int wait(const volatile int* p) {\n  int turns = 0;\n"
            "  while (*p) ++turns; // HERE\n  return turns;\n}"
        },
    ),
    "a loop with a barrier": (
        f"{WRITTEN}\nfor (;;) __syncthreads(); // HERE",
        [],
    ),
    "second block": (
        "y[64 * blockIdx.x + t] = 0;\nvolatile int go = blockIdx.x;\nwhile (go) ; // HERE",
        ["block (1, 0)"],
        {"y": torch.zeros(128), "grid": (2, 1)},
    ),
}


@cases(ENDLESS)
def test_an_endless_loop_is_stopped_and_its_line_named(inspect, statements, words, options):
    report, text = inspect(statements, time_limit=0.5, **options)
    assert report.y is None
    assert_at(report.findings[0], text, ["0.5 s", *words])


RECURSION = """__device__ int deep(int n, const volatile int* p) {
  volatile int a[64]; a[n & 63] = *p; return n ? deep(n - 1, a) + a[n & 63] : 0; // HERE
}"""
OVERFLOWS = {
    "recursion": (f"{WRITTEN}\nif (t == 33) y[t] = deep(100000, &n);", ["thread 33"]),
    "recursion without an end": (f"{WRITTEN}\ny[t] = deep(-1, &n);", ["thread 0"]),
    "recursion in the second block": (
        "y[64 * blockIdx.x + t] = 0;\n"
        "if (blockIdx.x == 1) y[64 * blockIdx.x + t] = deep(100000, &n);",
        ["thread 0", "block (1, 0)"],
        {"y": torch.zeros(128), "grid": (2, 1)},
    ),
}


@cases(OVERFLOWS)
def test_a_stack_overflow(inspect, statements, words, options):
    report, text = inspect(statements, before=RECURSION, **options)
    assert_says(report.findings[0], text, words)
    assert report.y is None


def test_a_local_array_larger_than_cuda_allows(inspect):
    report, _ = inspect(
        "volatile float big[1 << 18]; big[t] = x[t];\n"
        "for (int i = 0; i < 1 << 18; ++i) big[i] = i;\ny[t] = big[t];"
    )
    assert report.y is None
    assert says(report.findings[0].sentence, "thread 0")
    assert report.findings[0].place == ""  # it happens before the first line that is watched


def str_of_ten(inspect, statements, **options):
    return {str(inspect(statements, **options)[0]) for _ in range(10)}


def test_ten_reports_of_a_correct_kernel_are_the_same(inspect):
    options = {"x": torch.ones(64 * 48), "y": torch.zeros(64 * 48), "grid": (8, 6)}
    statements = (
        "const int i = 64 * (blockIdx.y * gridDim.x + blockIdx.x);\n__shared__ float a[64];\n"
        "a[t] = x[i + t];\n__syncthreads();\ny[i + t] = a[63 - t];"
    )
    (text,) = str_of_ten(inspect, statements, **options)
    assert "WRONG" not in text


def test_ten_reports_of_races_and_unwritten_reads_in_several_blocks_are_the_same(inspect):
    statements = (
        "__shared__ float a[64];\nif (blockIdx.x % 5 != 4) a[t] = x[t];\n"
        "y[64 * blockIdx.x + t] = a[t ^ 33];\na[t] = 0;\nif (blockIdx.x > 20) y[t] = a[t];"
    )
    (text,) = str_of_ten(inspect, statements, y=torch.zeros(64 * 40), grid=(40, 1))
    assert text.count("WRONG") >= 3


def test_ten_reports_of_a_write_outside_are_the_same_and_name_the_first_block(inspect):
    statements = (
        "y[64 * blockIdx.x + t] = x[t];\nif (blockIdx.x >= 3) y[64 * 40 + blockIdx.x + t] = 1;"
    )
    (text,) = str_of_ten(inspect, statements, y=torch.zeros(64 * 40), grid=(40, 1))
    assert "block (3, 0), thread 0" in text and "y[2563]" in text
