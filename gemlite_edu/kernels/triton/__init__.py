"""The Triton kernels, one per file; `runners.triton` loads the files for a GPU or for a CPU."""

from pathlib import Path

FOLDER = Path(__file__).parent
KERNELS = ("gemv", "gemv_revsplitk", "gemm_splitk", "gemm")
INT4_KERNELS = ("mixed_mm", "mixed_mm_transposed")
