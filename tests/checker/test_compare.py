"""The comparison that every check rests on."""

import pytest
import torch

from gemlite_lab.checker.compare import compare, is_close

NAN, INF = float("nan"), float("inf")


def floats(*values):
    return torch.tensor(values, dtype=torch.float16)


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.float16, torch.float64])
def test_equal_tensors_have_no_difference(dtype):
    expected = torch.arange(6).reshape(2, 3).to(dtype)
    assert compare("y", expected.clone(), expected) is None


def test_strides_and_gradients_are_no_difference():
    expected = torch.arange(6.0).reshape(2, 3)
    assert compare("y", expected.T.contiguous().T, expected) is None
    assert compare("y", expected.clone().requires_grad_(), expected) is None
    assert compare("y", floats(-0.0), floats(0.0)) is None


@pytest.mark.parametrize("came", [[1.0], (floats(1),), 1.0, "y", floats(1).numpy()])
def test_only_a_tensor_will_do(came):
    said = f"y is a {type(came).__name__}, expected a torch.Tensor"
    assert compare("y", came, floats(1)) == said


@pytest.mark.parametrize("shape", [(3, 2), (6,), (1, 2, 3), (2, 4), (2, 1), ()])
def test_a_shape_is_not_broadcast(shape):
    said = f"y has shape {shape}, expected (2, 3)"
    assert compare("y", torch.zeros(shape), torch.zeros(2, 3)) == said


def test_a_square_transposed_is_wrong_by_its_values():
    expected = torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8)
    said = "W_q[0, 1] is 3, expected 2; 2 of 4 elements are wrong"
    assert compare("W_q", expected.T, expected) == said


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bool, torch.complex64])
def test_a_dtype_is_not_converted(dtype):
    expected = torch.ones(2, dtype=torch.int32)
    said = f"W has dtype {dtype}, expected torch.int32"
    assert compare("W", expected.to(dtype), expected) == said


def test_the_right_dtype_may_differ_from_that_of_the_oracle():
    exact = torch.tensor([1.0], dtype=torch.float64)
    assert compare("y", floats(1), exact, dtype=torch.float16) is None
    said = "y has dtype torch.float64, expected torch.float16"
    assert compare("y", exact, exact, dtype=torch.float16) == said


def test_the_first_wrong_element_and_their_number_are_named():
    expected = torch.zeros(3, 4)
    actual = expected.clone()
    actual[1, 2] = 0.5
    assert compare("y", actual, expected) == "y[1, 2] is 0.5, expected 0; 1 of 12 elements is wrong"
    actual[2] = -1
    said = "y[1, 2] is 0.5, expected 0; 5 of 12 elements are wrong"
    assert compare("y", actual, expected) == said


def test_a_number_has_no_index():
    right = torch.tensor(2.5)
    assert compare("us", torch.tensor(3.25), right) == "us is 3.25, expected 2.5"
    assert compare("us", right.clone(), right) is None
    assert compare("us", right.reshape(1), right) == "us has shape (1,), expected ()"


def test_numbers_that_differ_look_different():
    right = torch.tensor(0.0705641, dtype=torch.float64)
    assert compare("us", right + 2e-9, right) == "us is 0.070564102, expected 0.0705641"
    assert compare("us", right + 1.0, right) == "us is 1.07056, expected 0.0705641"
    one = torch.ones(1)
    next_one = torch.nextafter(one, 2 * one)
    assert compare("y", next_one, one).startswith("y[0] is 1.0000001, expected 1; ")


def test_words_are_shown_in_hexadecimal():
    actual = torch.tensor([[-1, 0x1234]], dtype=torch.int32)
    expected = torch.tensor([[-1, 0x4321]], dtype=torch.int32)
    said = "W_packed[0, 1] is 0x00001234, expected 0x00004321; 1 of 2 elements is wrong"
    assert compare("W_packed", actual, expected) == said
    assert "is 0xffffffff, expected 0x00000000" in compare("W_packed", actual, 0 * expected)


@pytest.mark.parametrize("bound", [None, torch.tensor([INF], dtype=torch.float64)])
@pytest.mark.parametrize("right", [0.0, NAN, INF])
def test_nan_is_never_right(right, bound):
    assert not is_close(floats(NAN), floats(right), bound).any()
    assert "y[0] is nan" in compare("y", floats(NAN), floats(right), bound)


def test_no_number_is_right_where_nan_is_expected():
    assert not is_close(floats(0, INF), floats(NAN, NAN)).any()


def test_infinities_equal_themselves_and_nothing_finite():
    assert is_close(floats(INF, -INF), floats(INF, -INF)).all()
    assert not is_close(floats(INF, 65504, -INF), floats(65504, INF, INF)).any()
    assert not is_close(floats(INF), floats(1), torch.tensor([1e300], dtype=torch.float64)).any()


def test_a_bound_is_elementwise_and_inclusive():
    expected = torch.tensor([1.0, 1.0, 1.0], dtype=torch.float64)
    actual = torch.tensor([1.25, 1.25, 0.75])
    bound = torch.tensor([0.25, 0.125, 0.25], dtype=torch.float64)
    assert is_close(actual, expected, bound).tolist() == [True, False, True]
    said = "y[1] is 1.25, expected 1; 1 of 3 elements is wrong"
    assert compare("y", actual, expected, bound, dtype=torch.float32) == said


def test_without_a_bound_the_last_bit_counts():
    one = torch.tensor([1.0])
    assert not is_close(torch.nextafter(one, 2 * one), one).any()


def test_large_integers_are_not_rounded():
    expected = torch.tensor([2**31 - 1], dtype=torch.int32)
    assert not is_close(expected - 1, expected).any()
