"""WMMA: products of fragments against integer arithmetic, and which lane has which element."""

import pytest
import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners import simulator

SHAPES = [(16, 16), (32, 8), (8, 32)]
K = 16
BEGIN = "#include <mma.h>\nnamespace wmma = nvcuda::wmma;\n"


def fragments(M, N, T="signed char", a="row_major", b="col_major"):
    """Declarations of a, b and c."""
    return f"""
  wmma::fragment<wmma::matrix_a, {M}, {N}, 16, {T}, wmma::{a}> a;
  wmma::fragment<wmma::matrix_b, {M}, {N}, 16, {T}, wmma::{b}> b;
  wmma::fragment<wmma::accumulator, {M}, {N}, 16, int> c;"""


def random_bytes(rows, columns, dtype, seed):
    """With all of the extremes in its first row."""
    info, generator = torch.iinfo(dtype), torch.Generator().manual_seed(seed)
    values = torch.randint(info.min, info.max + 1, (rows, columns), generator=generator)
    values[0] = info.min if info.min else info.max
    return values.to(dtype)


def with_gaps(matrix, ldm, by_rows):
    """As a kernel wants it: rows, or columns, `ldm` elements apart."""
    lines = matrix if by_rows else matrix.T
    return torch.nn.functional.pad(lines, (0, ldm - lines.shape[1])).contiguous()


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8], ids=str)
@pytest.mark.parametrize("is_usual", [True, False], ids=["row col row", "col row col"])
@pytest.mark.parametrize("M, N", SHAPES)
def test_products_are_those_of_integers(launch, M, N, is_usual, dtype):
    a, b = ("row_major", "col_major") if is_usual else ("col_major", "row_major")
    T = "signed char" if dtype == torch.int8 else "unsigned char"
    text = f"""{BEGIN}
__global__ void kernel(const {T}* A, const {T}* B, const int* C, int* y) {{
  {fragments(M, N, T, a, b)}
  wmma::load_matrix_sync(a, A, 48);
  wmma::load_matrix_sync(b, B, 32);
  wmma::load_matrix_sync(c, C, 36, wmma::mem_{a});
  wmma::mma_sync(c, a, b, c);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(y, c, 32, wmma::mem_{a});
}}"""
    A, B = random_bytes(M, K, dtype, 0), random_bytes(N, K, dtype, 1).T
    C = torch.randint(-(2**31), 2**31, (M, N), generator=torch.Generator().manual_seed(2))
    C[0] = 2**31 - 1  # sums wrap around
    inputs = {
        "A": with_gaps(A, 48, is_usual),
        "B": with_gaps(B, 32, not is_usual),
        "C": with_gaps(C.int(), 36, is_usual),
    }
    lines, length = (M, N) if is_usual else (N, M)
    y = launch(text, {"y": torch.zeros(lines, 32, dtype=torch.int32)}, inputs)[:, :length]
    y = y if is_usual else y.T
    assert y.tolist() == (C + 2 * A.long() @ B.long()).int().tolist()


OWNERS = """
  wmma::load_matrix_sync(a, A, 16);
  wmma::load_matrix_sync(b, B, 16);
  wmma::load_matrix_sync(c, C, {N}, wmma::mem_row_major);
  tell(y, a, A, 16, true);
  tell(y, b, B, 16, false);
  tell(y, c, C, {N}, true);
"""
TELL = """
template <typename Fragment, typename T>
__device__ void tell(int*& y, const Fragment& f, const T* matrix, int ldm, bool by_rows) {
  for (int i = 0; i < f.num_elements; ++i) {
    const auto cell = Fragment::sim_cell(threadIdx.x, i);
    const int at = by_rows ? cell.row * ldm + cell.col : cell.col * ldm + cell.row;
    y[i * 32 + threadIdx.x] = f.x[i] == matrix[at] ? at : -1;
  }
  y += 32 * f.num_elements;
}
"""


@pytest.mark.parametrize("M, N", SHAPES)
def test_each_element_has_one_owner_who_has_its_value(launch, M, N):
    sizes = [M * K, K * N, M * N]
    text = (
        f"{BEGIN}{TELL}\n__global__ void kernel(const signed char* A, const signed char* B, "
        f"const int* C, int* y) {{{fragments(M, N)}{OWNERS.format(N=N)}}}"
    )
    inputs = {name: torch.arange(size) for name, size in zip("ABC", sizes, strict=True)}
    inputs = {n: v.int() if n == "C" else v.to(torch.int8) for n, v in inputs.items()}
    y = launch(text, {"y": torch.full((sum(sizes),), -2, dtype=torch.int32)}, inputs)
    for owned, size in zip(y.split(sizes), sizes, strict=True):
        assert sorted(owned.tolist()) == list(range(size))


def test_elements_can_be_changed_and_a_fragment_copied(launch):
    text = f"""{BEGIN}
__global__ void kernel(int* y) {{{fragments(16, 16)}
  wmma::fill_fragment(a, 2);
  wmma::fill_fragment(b, -3);
  wmma::fill_fragment(c, 1);
  for (int i = 0; i < a.num_elements; ++i) a.x[i] = a.x[i] + 1;
  auto d = c;
  wmma::mma_sync(d, a, b, c);
  wmma::store_matrix_sync(y, d, 16, wmma::mem_row_major);
}}"""
    y = launch(text, {"y": torch.zeros(256, dtype=torch.int32)})
    assert y.tolist() == [1 - 3 * 3 * 16] * 256


@pytest.mark.parametrize("unfilled", "abc")
def test_what_nobody_filled_is_not_zero(launch, unfilled):
    fills = [f"wmma::fill_fragment({name}, 1);" for name in "abc" if name != unfilled]
    text = f"""{BEGIN}
__global__ void kernel(int* y) {{{fragments(16, 16)}
  {" ".join(fills)}
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
}}"""
    y = launch(text, {"y": torch.zeros(256, dtype=torch.int32)})
    expected = -(2**31) + 16 if unfilled == "c" else 1 - 128 * 16
    assert y.tolist() == [expected] * 256


def test_warps_of_several_blocks_multiply_by_themselves(launch):
    text = f"""{BEGIN}
__global__ void kernel(const signed char* A, const signed char* B, int* y) {{{fragments(16, 16)}
  const int tile = 4 * blockIdx.x + threadIdx.x / 32;
  wmma::fill_fragment(c, 0);
  wmma::load_matrix_sync(a, A + 256 * tile, 16);
  wmma::load_matrix_sync(b, B, 16);
  for (int i = 0; i < tile; ++i) wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(y + 256 * tile, c, 16, wmma::mem_row_major);
}}"""
    A, B = random_bytes(12 * 16, 16, torch.int8, 0), random_bytes(16, 16, torch.int8, 1)
    outputs = {"y": torch.zeros(12, 16, 16, dtype=torch.int32)}
    y = launch(text, outputs, {"A": A, "B": B}, grid=(3, 1), threads=128)
    products = A.reshape(12, 16, 16).int() @ B.T.int()
    assert y.tolist() == (products * torch.arange(12).reshape(12, 1, 1)).tolist()


@pytest.mark.parametrize(
    "fragment",
    [
        "matrix_a, 16, 8, 16, signed char, wmma::row_major",
        "matrix_a, 16, 16, 16, char, wmma::row_major",
        "matrix_b, 16, 16, 16, half, wmma::row_major",
        "matrix_b, 16, 16, 16, signed char",
        "accumulator, 16, 16, 16, float",
    ],
)
def test_another_fragment_is_refused_in_one_sentence(fragment):
    text = f"{BEGIN}__global__ void kernel() {{ wmma::fragment<wmma::{fragment}> f; }}"
    with pytest.raises(KernelTextError, match="the simulator has fragments of shape 16x16x16"):
        simulator.build_kernel(text, "kernel", {})


def test_an_accumulator_is_loaded_with_a_layout():
    load = "wmma::load_matrix_sync(c, y, 16);"
    text = f"{BEGIN}__global__ void kernel(const int* y) {{{fragments(16, 16)} {load} }}"
    with pytest.raises(KernelTextError, match="takes wmma::mem_row_major or wmma::mem_col_major"):
        simulator.build_kernel(text, "kernel", {})
