"""Which texts may point to a local variable; the others are spared a second build."""

import pytest

from gemlite_edu.kernels.local_pointers import may_point_to_locals

FUNCTION = "__device__ float f(uint32_t word, const X_T* x, const float (&s)[4]) {{\n{}\n}}"


@pytest.mark.parametrize("body", [
    "float v[4]; const float* p = v;",
    "float v[4]; return total(v, 4);",
    "float v[4]; v[0] = *(v + 1);",
    "float v[2][2]; return total(v[0], 5);",
    "float a = 0; return total(&a, 2);",
    "float a = 0; return *(&a + 1);",
    "float a = 0; memcpy(x, & a, 8);",
    "const uint8_t* b = reinterpret_cast<const uint8_t*>(&word);",
    "#define ARRAY(n) float n[4]",
    "typedef float Four[4]; Four v; return total(v, 5);",
    "using Four = float[4]; Four v; return total(v, 5);",
    "auto v = first(word);",
    "struct { float v[4]; } s; return total(s.v, 5);",
    "float a, v[4]; return total(v, 5);",
    "float v[4] = {0}, w[4]; return total(w, 5);",
    "float v [ 4 ]; return total(v, 5);",
    "float v<:4:>; return total(v, 5);",
    "for (float a : std::initializer_list<float>{1, 2}) s += *(&a + 1);",
    "return [&] { return s; }();",
])  # fmt: skip
def test_these_may(body):
    assert may_point_to_locals(FUNCTION.format(body))


@pytest.mark.parametrize("body", [
    "return x[0] * s[1];",
    "float v[4] = {x[0], s[1]}; return v[word & 3];",
    "const float v[4] = {}; /* &v */ return v[0] + v [1];",
    "return word >> 4 & 15 && x[0] & s[1];",
])  # fmt: skip
def test_these_do_not(body):
    assert not may_point_to_locals(FUNCTION.format(body))
