import pytest

from gemlite_lab.bench import roofline


@pytest.mark.parametrize(
    "nbits, group_size, expected",
    [
        (16, None, 2 * 64 * 256),
        (4, None, 64 * 256 // 2 + 64 * 4),
        (4, 128, 64 * 256 // 2 + 64 * 2 * 4),
        (3, 32, 6144 + 64 * 8 * 4),
        (1, 256, 2048 + 64 * 4),
    ],
)
def test_weights_are_codes_with_a_scale_and_a_zero_per_group(nbits, group_size, expected):
    assert roofline.weight_bytes(64, 256, nbits, group_size) == expected


def test_a_product_moves_its_weights_x_and_y_once():
    x, y = 3 * 256 * 2, 3 * 64 * 2
    assert roofline.least_bytes(3, 64, 256, 16) == 32_768 + x + y


def test_the_floor_of_the_measured_shapes():
    # 16384 x 16384 in W4 g128 at 4.25 TB/s: 33.5 µs in measurements/h200_peers.md.
    nbytes = roofline.weight_bytes(16384, 16384, 4, 128)
    assert round(roofline.floor_us(nbytes, 4250), 1) == 33.6


def test_the_roofs_meet_at_the_ridge():
    assert roofline.intensity(2, 3, 5, 10) == 6.0
    assert roofline.attainable_tflops(10, 1000, 50) == 10
    assert roofline.attainable_tflops(50, 1000, 50) == 50
    assert roofline.attainable_tflops(500, 1000, 50) == 50
