"""Lines that often do not do what their writer meant are named where an answer is wrong."""

from pathlib import Path

import pytest
import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_lab import CheckFailed, check
from gemlite_lab.checker.doubtful_lines import doubtful_lines

RIGHT = sorted((Path(__file__).parent.parent / "right").glob("*/*.cu"))


@pytest.mark.parametrize(
    "line, says",
    [
        ("if (0 <= n < N) {", "with the last number: write a <= b && b < c"),
        ("const int mask = 2 ^ W_NBITS - 1;", "^ is the exclusive or"),
        ("for (int j = 0; j < 8; ++j); {", "the semicolon behind the ) ends it"),
        ("  for (int j = 0; j < 8; ++j) sum += x[j];", None),
        ("  float tile[32][33];", "is declared __shared__"),
        ("  __shared__ float tile[32][33];", None),
        ("sum += __shfl_down_sync(sum, 16, FULL_WARP);", "the mask, the value and the offset"),
        ("sum += __shfl_down_sync(FULL_WARP, sum, 16);", None),
        ("y[i] = __shfl_xor_sync(FULL_WARP, 16, value);", "offset and value are exchanged"),
        ("sum += __shfl_down_sync(~0u, offset, sum);", "offset and value are exchanged"),
        ("sum = __shfl_sync(FULL_WARP, sum, 0);", None),
        ("y[i] = tile[lane, row];", "C writes tile[a][b]"),
        ("y[i] = x[min(i, N - 1)];", None),
        ("  __syncthreads;", "without its () the barrier is named"),
        ("y[n] = 1 / 2 * sum;", "whole numbers divide to a whole number"),
        ("{ float sum = 1.0f; }\nfor (;;) {\n  float sum = 2.0f;\n}", None),
        ("float sum = 0.0f;\nfor (;;) {\n  float sum = x[0];\n}", "that of line 1 is another"),
        ("for (int j = 0; j < 8; ++j) sum += __shfl_down_sync(~0u, sum, 1 << j);", None),
        ("const bool last = i < N && j < K; // 0 < i < N", None),
        ("if (n < N) {\n  stage_to_shared(x, x_shared, K, K);\n}", "that skip the if never come"),
        ("if (n < N) {\n  y[n] = 0.0f;\n}\n__syncthreads();", None),
        ("y[n] = 1.0f / 2 * x[1];", None),
        ("flags ^= 2; a = b ^ c;", None),
    ],
)
def test_a_line_that_c_reads_otherwise_is_quoted(line, says):
    doubts = doubtful_lines(line)
    assert bool(doubts) == bool(says)
    if says:
        assert says in doubts[0] and doubts[0].startswith("Look at line ")


def test_right_answers_have_hardly_any():
    doubtful = [path for path in RIGHT if doubtful_lines(path.read_text())]
    assert len(doubtful) <= len(RIGHT) // 20, doubtful


def test_a_wrong_answer_with_such_a_line_is_told_of_it():
    text = """
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < PACK_FACTOR; ++j) {
    const uint32_t code = word >> (28 - 4 * j) & 15;
    float sum = (code - zero) * to_float(x[32 * j]);
  }
  return sum;
}
"""
    with pytest.raises(CheckFailed, match="line 5.*\n.*this is a new sum"):
        check("dequant_dot_4bit", text)


def test_a_power_as_xor_is_pointed_out_in_python_too_and_beside_a_named_mistake():
    def unpack(W_packed, nbits, K):
        tiles = W_packed.reshape(len(W_packed), -1, 32)
        fields = [tiles >> (32 - nbits * (j + 1)) for j in range(32 // nbits)]
        codes = torch.stack(fields, 2) & 10 ^ nbits  # 2 ^ 3
        return codes.flatten(1)[:, :K].to(torch.uint8)

    with pytest.raises(CheckFailed) as caught:
        check("unpack", unpack)
    assert "Look at line 4, codes = torch.stack(fields, 2) & 10 ^ nbits\n" in str(caught.value)
    assert str(caught.value).endswith("2 to the power n is 2**n.")
    text = (RIGHT[0].parent.parent / "dequant_dot/plain.cu").read_text()
    reversed_codes = text.replace("32 - W_NBITS * (j + 1)", "W_NBITS * j")
    named = reversed_codes.replace("j < PACK_FACTOR", "j < PACK_FACTOR + 0 * (2 ^ 3)")
    with pytest.raises(CheckFailed, match="exactly what comes out when(.|\n)*1 << n.$"):
        check("dequant_dot", named)


def test_a_line_of_the_lessons_8_bits_is_pointed_out_where_4_are_asked_for():
    assert "a tile is 128 wide" in doubtful_lines("int tiles = ceil_div(K, 128);", "fused_gemv")[0]
    assert not doubtful_lines("int tiles = ceil_div(K, 128);", "dequant_dot")


def test_what_the_simulator_says_of_a_line_is_not_said_again():
    text = (RIGHT[0].parent.parent / "warp_reduce_sum/plain.cu").read_text()
    with pytest.raises(KernelFault) as caught:
        check("warp_reduce_sum", text.replace("value, offset)", "offset, value)"))
    assert str(caught.value).count("the mask, the value and the offset") == 1
