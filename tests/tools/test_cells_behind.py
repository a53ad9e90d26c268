import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

from cells_behind import cells_behind  # noqa: E402
from measured_rows import measured  # noqa: E402

OURS, OUR_INT8 = "gemv_a16wn_fp32", "gemm_a8w2_wmma"


def behind(*rows):
    """The cells of the table's rows, without its head."""
    lines = list(cells_behind(rows))[5:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_kernel_on_the_same_weights_that_is_ahead():
    rows = measured(OURS, 3.0), measured("humming", 2.0), measured("gemlite", 2.5)
    assert behind(*rows) == [["W4 g128", "1", "100 x 1000", OURS, "3.0", "humming", "2.0", "1.50"]]


def test_what_the_spread_does_not_tell_apart_is_not_behind():
    assert not behind(measured(OURS, 2.03), measured("humming", 2.0))
    assert behind(measured(OURS, 2.05), measured("humming", 2.0))


def test_other_shapes_batches_and_weights_are_other_cells():
    other = dict(N=200), dict(M=2), dict(weights="W8 g128"), dict(transposed=True)
    for changed in other:
        (found,) = behind(measured(OURS, 3.0), measured("humming", 2.0, **changed))
        assert "not measured" in found, "the peer's own cell is all there is"


def test_unquantized_weights_count_in_the_type_of_x():
    fp16, bf16 = (
        measured("cublas", 2.0, weights="W16", x_dtype=x) for x in ("float16", "bfloat16")
    )
    assert behind(measured(OURS, 3.0), fp16) and not behind(measured(OURS, 3.0), bf16)


def test_beside_int8_x_all_unquantized_products_count():
    ours = measured(OUR_INT8, 3.0, weights="W2", x_dtype="int8")
    peers = [
        measured("cublas_bf16", 2.5, weights="W16", x_dtype="bfloat16"),
        measured("int_mm", 2.0, weights="W8", x_dtype="int8"),
    ]
    assert [found[5] for found in behind(ours, *peers)][:1] == ["int_mm"]
    assert [found[5] for found in behind(ours, peers[0])] == ["cublas_bf16"]


def test_refused_times_are_no_times():
    assert not behind(measured(OURS, 3.0), measured("humming", 0.0, refused="wrong"))
