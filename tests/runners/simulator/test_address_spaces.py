"""Functions that reach global memory alone, with addresses in other memory."""

BEFORE = """
__constant__ float table[4] = {1, 2, 3, 4};
__device__ float kept[4] = {1, 2, 3, 4};
template <typename T>
__device__ T fetch(const T* from) { return __ldg(from); }
"""
GLOBAL = {
    "a tensor": "y[t] = __ldg(x + t);",
    "a variable": "y[t] = __ldcs(kept + t % 4);",
    "a table of a function": "static const float s[2] = {1, 2}; y[t] = fetch(s + t % 2);",
}
OTHERS = {
    "shared": "__shared__ float a[64]; a[t] = 1; y[t] = __ldg(&a[t]);",
    "shared, chosen": "__shared__ float b[64]; b[t] = 1; y[t] = __ldcs((t % 2 ? x : b) + t);",
    "local": "float v = x[t]; y[t] = __ldcs(&v);",
    "local, in a template": "float v[2] = {1, x[t]}; y[t] = fetch(v + t % 2);",
}


def test_only_global_memory_is_reached_by_what_a_gpu_lets_reach_no_other(inspect_each):
    found = inspect_each(GLOBAL | OTHERS, before=BEFORE)
    assert [name for name in GLOBAL if found[name]] == []
    for name in OTHERS:
        space = name.partition(",")[0]
        assert f"thread 0 gives an address in {space} memory" in found[name]
        assert "such as __ldg" in found[name] and found[name].startswith("kernel.cpp, line ")
