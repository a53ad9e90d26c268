import pytest
import torch

LANE = torch.arange(32, dtype=torch.int32)


def one_line(expression):
    return f"""
    __global__ void kernel(int* out) {{
      const int lane = threadIdx.x;
      out[lane] = {expression};
    }}"""


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("__shfl_sync(0xFFFFFFFF, lane * 3, 5)", torch.full((32,), 15)),
        ("__shfl_sync(0xFFFFFFFF, lane, lane + 1)", (LANE + 1) % 32),
        ("__shfl_sync(0xFFFFFFFF, lane, 1, 8)", LANE // 8 * 8 + 1),
        ("__shfl_down_sync(0xFFFFFFFF, lane, 16)", torch.where(LANE < 16, LANE + 16, LANE)),
        ("__shfl_down_sync(0xFFFFFFFF, lane, 2, 4)", torch.where(LANE % 4 < 2, LANE + 2, LANE)),
        ("__shfl_up_sync(0xFFFFFFFF, lane, 1)", torch.where(LANE > 0, LANE - 1, LANE)),
        ("__shfl_up_sync(0xFFFFFFFF, lane, 1, 16)", torch.where(LANE % 16 > 0, LANE - 1, LANE)),
        ("__shfl_xor_sync(0xFFFFFFFF, lane, 5)", LANE ^ 5),
        ("__shfl_down_sync(0xFFFFFFFF, lane, 33)", torch.where(LANE < 31, LANE + 1, LANE)),
        ("__shfl_up_sync(0xFFFFFFFF, lane, 33)", torch.where(LANE > 0, LANE - 1, LANE)),
        ("__shfl_xor_sync(0xFFFFFFFF, lane, 33)", LANE ^ 1),
        ("__shfl_sync(0xFFFFFFFF, (unsigned char)200, 3) + 100", torch.full((32,), 300)),
        ("sizeof(__shfl_xor_sync(0xFFFFFFFF, lane < 3, 1))", torch.full((32,), 4)),
        ("__ballot_sync(0xFFFFFFFF, lane < 3)", torch.full((32,), 7)),
        ("__any_sync(0xFFFFFFFF, lane == 31)", torch.full((32,), 1)),
        ("__all_sync(0xFFFFFFFF, lane < 31)", torch.full((32,), 0)),
        ("(int)__shfl_down_sync(0xFFFFFFFF, 0.5 * lane, 2)", None),
    ],
)
def test_every_lane_gets_what_cuda_defines(launch, lanes, expression, expected):
    if expected is None:
        expected = (torch.where(LANE < 30, LANE + 2, LANE) * 0.5).int()
    assert launch(one_line(expression), {"out": lanes}).tolist() == expected.tolist()


def test_a_half_warp_meets_by_itself(launch, lanes):
    text = """
    __global__ void kernel(int* out) {
      int value = threadIdx.x;
      if (threadIdx.x < 16) value += __shfl_down_sync(0x0000FFFF, value, 8, 16);
      else value += __shfl_xor_sync(0xFFFF0000, value, 1);
      out[threadIdx.x] = value;
    }"""
    low = torch.where(LANE < 8, 2 * LANE + 8, 2 * LANE)
    expected = torch.where(LANE < 16, low, LANE + (LANE ^ 1))
    assert launch(text, {"out": lanes}).tolist() == expected.tolist()


def test_a_lane_outside_the_mask_gives_nan_where_cuda_leaves_it_undefined(launch):
    text = """
    __global__ void kernel(float* out) {
      out[threadIdx.x] = 1.0f;
      if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(0xFFFFu, 1.0f, 8);
    }"""
    out = launch(text, {"out": torch.zeros(32)})
    assert out.isnan().nonzero().flatten().tolist() == list(range(8, 16))


def test_barriers_order_all_warps_of_a_block(launch):
    text = """
    __global__ void kernel(int* out) {
      __shared__ int last[256];
      last[threadIdx.x] = threadIdx.x;
      __syncthreads();
      const int other = last[255 - threadIdx.x];
      __syncthreads();
      last[threadIdx.x] = other * 2;
      __syncthreads();
      out[blockIdx.x * 256 + threadIdx.x] = last[(threadIdx.x + 1) % 256] + 1000 * blockIdx.x;
    }"""
    out = launch(text, {"out": torch.zeros(5, 256, dtype=torch.int32)}, grid=(5, 1), threads=256)
    other = 255 - torch.arange(256)
    expected = (other * 2).roll(-1) + 1000 * torch.arange(5).reshape(5, 1)
    assert out.tolist() == expected.tolist()


def test_lanes_that_returned_do_not_hold_up_a_barrier(launch):
    text = """
    __global__ void kernel(int* out) {
      if (threadIdx.x >= 40) return;
      __syncthreads();
      out[threadIdx.x] = 1;
    }"""
    out = launch(text, {"out": torch.zeros(64, dtype=torch.int32)}, threads=64)
    assert out.sum() == 40


def test_blocks_and_grid_have_their_indices(launch):
    text = """
    __global__ void kernel(int* out) {
      const int block = blockIdx.y * gridDim.x + blockIdx.x;
      out[block * blockDim.x + threadIdx.x] = block * 100 + threadIdx.x;
    }"""
    out = launch(text, {"out": torch.zeros(6, 48, dtype=torch.int32)}, grid=(3, 2), threads=48)
    expected = 100 * torch.arange(6).reshape(6, 1) + torch.arange(48)
    assert out.tolist() == expected.tolist()
