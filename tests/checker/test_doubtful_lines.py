"""Lines that often do not do what their writer meant are named where an answer is wrong."""

from pathlib import Path

import pytest
import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_lab import CheckFailed, check
from gemlite_lab.checker.doubtful_lines import doubtful_lines, doubtful_shifts

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
        ("sum += __shfl_down_sync(sum, 16);", "the mask, the value and the offset"),
        ("const unsigned m = __ballot_sync(~0u, 1); sum = __shfl_down_sync(m, sum, 16);", None),
        ("y[i] = __shfl_xor_sync(FULL_WARP, 16, value);", "offset and value are exchanged"),
        ("sum += __shfl_down_sync(~0u, offset, sum);", "offset and value are exchanged"),
        ("sum = __shfl_sync(FULL_WARP, sum, 0);", None),
        ("y[i] = tile[lane, row];", "C writes tile[a][b]"),
        ("y[i] = x[min(i, N - 1)];", None),
        ("  __syncthreads;", "without its () the barrier is named"),
        ("y[n] = 1 / 2 * sum;", "whole numbers divide to a whole number"),
        ("{ float sum = 1.0f; }\nfor (;;) {\n  float sum = 2.0f;\n}", None),
        ("float sum = 0.0f;\nfor (;;) {\n  float sum = x[0];\n}", "that of line 1 is another"),
        ("for (int k = 0; k < 8; ++k) {\n}\nfor (;;) {\n  int k = 1;\n}", None),
        ("int k = 1;\nfor (int j = 0; j < 8; ++j) {\n  int k = j;\n}", "that of line 1 is another"),
        ("for (int j = 0; j < 8; ++j) sum += __shfl_down_sync(~0u, sum, 1 << j);", None),
        ("const bool last = i < N && j < K; // 0 < i < N", None),
        ("if (n < N) {\n  stage_to_shared(x, x_shared, K, K);\n}", "that skip the if never come"),
        ("if (n < N) {\n  y[n] = 0.0f;\n}\n__syncthreads();", None),
        ("y[n] = 1.0f / 2 * x[1];", None),
        ("flags ^= 2; a = b ^ c;", None),
        ("if (i < N); y[i] = x[i];", "the statement behind is not its own"),
        ("if (f(i) < N) y[i] = x[i];", None),
        ("sum += __shfl_down_sync(1, sum, 16);", "1 names lane 0 alone, and 0xffffffff all 32"),
        ("sum += __shfl_down_sync(4294967295, sum, 16);", None),
        ("if (threadIdx.x < 32) __syncthreads();", "that skip the if never come"),
        ("if (n < N) { __syncthreads(); }", "that skip the if never come"),
        ("  if (n < N)\n    __syncthreads();", "that skip the if never come"),
        (
            "const int n = 32 * blockIdx.x + threadIdx.x;\nif (n < N) __syncthreads();",
            "that skip the if never come",
        ),
        (
            "for (int turn = 0; turn < K / 64; ++turn) {\n  if (turn % 2 == 0) __syncthreads();\n}",
            "all threads go on without waiting",
        ),
        (
            "const int num_steps = ceil_div(p.K, BLOCK_K);\nint step = 0;\n"
            "if (step + 1 < num_steps)\n  __syncthreads();",
            "all threads go on without waiting",
        ),
        ("if (n < N) y[n] = 0.0f;\n__syncthreads();", None),
        ("if (n >= N) return;\nstage_to_shared(x, x_shared, K, K);", "take no part in line 2"),
        ("__syncthreads();\nif (n >= N) return;", None),
        ("if (n < N) { y[n] = 0.0f; }\n__syncthreads();", None),
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


@pytest.mark.parametrize(
    "line, says",
    [
        ("word = a << 24 + b << 16 + c << 8 + d", "+ comes before <<"),
        ("word = (a << 24) + (b << 16) + c", None),
        ("word = a << 24 & b << 16 & c", "& keeps only the bits that both have"),
        ("word = (a & 255) << 24 | b << 16", None),
        ("tiles << 32 - nbits * 8 + 4", None),
    ],
)
def test_a_line_of_python_that_does_not_join_its_numbers_is_quoted(line, says):
    doubts = doubtful_shifts(line)
    assert says in doubts[0] if says else not doubts


@pytest.mark.parametrize(
    "line, is_told",
    [
        ("int tiles = ceil_div(K, 128);", True),
        ("const int num_tiles = (K + 127) / 128;", True),
        ("stage_to_shared(x, x_shared, K, num_tiles * 128);", True),
        ("const X_T* x_met = &x_shared[128 * tile + lane_id];", True),
        ("constexpr int TILE = 128;", True),
        ("stage_to_shared(x, x_shared, K, num_tiles * 2 * 128);", False),
        ("const X_T* x_met = &x_shared[2 * 128 * tile + lane_id];", False),
        ("if (threadIdx.x < 128) y[n] = sum;", False),
        ("__shared__ float partial[128];", False),
    ],
)
def test_a_line_of_the_lessons_8_bits_is_pointed_out_where_4_are_asked_for(line, is_told):
    says = "at 8 bits a tile is 128 wide"
    for exercise in ("fused_gemv", "climb", "dequant_dot_4bit"):
        assert any(says in doubt for doubt in doubtful_lines(line, exercise)) == is_told
    assert not any(says in doubt for doubt in doubtful_lines(line, "dequant_dot"))


@pytest.mark.parametrize(
    "line, says",
    [
        ("int low = (word.low >> (30 - 2 * j)) & 3;", "its first code begins at bit 62"),
        ("const uint32_t low = word.low;", "its first code begins at bit 62"),
        ("int low = word.low >> (62 - 2 * j);", "without & 3 the codes above it stay in"),
        ("int high = word.high >> (31 - j);", "without & 1 the codes above it stay in"),
        ("int low = (word.low >> (62 - 2 * j)) & 3;", None),
        ("uint64_t low = word.low;", None),
        ("int high = (word.high >> 31 - j) % 2;", None),
    ],
)
def test_the_planes_have_doubtful_lines_of_their_own(line, says):
    doubts = doubtful_lines(line, "dequant_dot_planes")
    assert says in doubts[0] if says else not doubts


@pytest.mark.parametrize(
    "line, says",
    [
        ("const int s = scales[group];", "the scale is put in an integer"),
        ("sum += dequant_dot(word << j, x, zero);", "moves it by j codes"),
        ("sum += dequant_dot(word << W_NBITS * j, x, zero);", None),
        ("uint32_t code = word >> (28 - W_NBITS * j);", "without & CODE_MASK the codes above"),
        ("sum += ((word >> 28) - zero) * to_float(x[j * WARP_SIZE]);", None),
        ("int group = (k + threadIdx.x % 32 + j * 32) / GROUP_SIZE;", "lane is not added again"),
        ("int group = (word_in_row + j * WARP_SIZE) / GROUP_SIZE;", "counts words"),
        ("for (int j = 0; j < 8; ++j) sum += dequant_dot(word, x, 0);", "it goes on by as many"),
        ("for (int j = 0; j < 8; j += 2) sum += dequant_dot(word, x, 0);", None),
        ("for (int j = 0; j < 8; ++j) sum += x[j];", None),
    ],
)
def test_groups_have_doubtful_lines_of_their_own(line, says):
    doubts = doubtful_lines(line, "scaled_dot")
    assert says in doubts[0] if says else not doubts


def test_what_the_simulator_says_of_a_line_is_not_said_again():
    text = (RIGHT[0].parent.parent / "warp_reduce_sum/plain.cu").read_text()
    with pytest.raises(KernelFault) as caught:
        check("warp_reduce_sum", text.replace("value, offset)", "offset, value)"))
    assert str(caught.value).count("the mask, the value and the offset") == 1
