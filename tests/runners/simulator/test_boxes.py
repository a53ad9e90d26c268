"""Boxes of a matrix in shared memory, as the map of a kernel's parameter brings them."""

import pytest
import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelFault

ROWS, M, K = 16, 21, 192  # of a box; of a matrix whose second row of boxes ends early
BOX_K = 64
BOXES = sources.expand_header("row_boxes.cuh")


def run(launch, *, row=0, k=0, bytes_of_a_box="16 * 128", of_m=M, to="box"):
    """y (ROWS, BOX_K): what a box at (row, k) brings to shared memory, in its order there."""
    text = f"""
    {BOXES}
    __global__ void kernel(const half* x, half* y) {{
      __shared__ __align__(1024) uint4 box[16 * 8];
      __shared__ uint64_t full;
      if (threadIdx.x == 0) {{
        barrier_init(&full, 1);
        barrier_arrive_expecting(&full, {bytes_of_a_box});
        copy_box<16>({to}, x, {{{row}, {k}, {of_m}, {K}}}, &full);
      }}
      __syncthreads();
      barrier_wait(&full, 0);
      const half* halves = reinterpret_cast<const half*>(box);
      for (int i = threadIdx.x; i < 16 * 64; i += 32) y[i] = halves[i];
    }}"""
    x = torch.randn(M, K, generator=torch.Generator().manual_seed(row + k)).half()
    y = torch.zeros(ROWS, BOX_K).half()
    launch(text, {"y": y}, {"x": x}, threads=32)
    return x, y


@pytest.mark.parametrize("row, k", [(0, 0), (0, 128), (16, 64)])
def test_pieces_of_a_row_lie_where_its_number_swaps_them_to(launch, row, k):
    x, y = run(launch, row=row, k=k)
    pieces = y.view(ROWS, 8, 8)
    for r in range(ROWS):
        for piece in range(8):
            first = k + piece * 8
            there = row + r < M
            expected = x[row + r, first : first + 8] if there else torch.zeros(8).half()
            assert torch.equal(pieces[r, piece ^ r % 8], expected)


def test_a_box_counts_the_bytes_of_rows_that_are_not_there(launch):
    with pytest.raises(KernelFault, match="waits for ever for a phase"):
        run(launch, row=16, bytes_of_a_box="16 * 128 + 16")


def test_a_box_of_rows_beyond_the_tensor_is_refused(launch):
    with pytest.raises(KernelFault, match="bulk copy of 128 bytes that are not all in the tensor"):
        run(launch, row=16, of_m=M + 1)


@pytest.mark.parametrize(
    "to, told",
    [
        ("box + 8", "copies a box of a matrix to an address that is no multiple of 1024"),
        ("box + 64", "bulk copy to 2048 bytes that are not all in shared memory"),
    ],
)
def test_a_box_that_does_not_fit_where_it_goes_is_refused(launch, to, told):
    with pytest.raises(KernelFault, match=told):
        run(launch, to=to)
