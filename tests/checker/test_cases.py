"""The cases of the exercises leave a wrong answer nothing to hide behind."""

from functools import cache

import pytest
import torch

from gemlite_lab.checker import EXERCISES, cases
from gemlite_lab.checker.cuda_c import CUDA_C_EXERCISES
from gemlite_lab.checker.exercise import clone
from gemlite_lab.checker.laid_otherwise import as_parts, as_transposes
from gemlite_lab.checker.shared_kernels import SHARED_EXERCISES

NAMES = list(EXERCISES)
SMALL = {exercise.name for exercise in (*CUDA_C_EXERCISES, *SHARED_EXERCISES)}
GEMVS = [name for name in NAMES if EXERCISES[name].output == "y" and name not in SMALL]
# Ends of labels of cases in which few k meet an x, or of which few rows are taken.
OF_FEW_X = (
    *("numbers up to 65504", "32 warps", "and more", "K = 66300"),
    *("row after row", "W of 11 bits", "scales of 0 and y between two numbers"),
)
OF_FEW_CODES = "rows with one bit", "codes 0 and 1", "words like those of other widths"
LOW_BIT = [name for name in NAMES if name.startswith(("pack", "unpack", "dequant_dot"))]


@cache
def cases_of(name):
    """[(case, right output, bound)] in the order in which an answer meets them."""
    return [(case, *EXERCISES[name].expected(case)) for case in EXERCISES[name].cases()]


def designed_cases(name):
    """The cases of an exercise but for the real layer, which is what it is."""
    return [case for case, *_ in cases_of(name) if getattr(case, "is_exact", True)]


@pytest.mark.parametrize("name", NAMES)
def test_labels_tell_the_cases_apart(name):
    """Fingerprints are filed under them."""
    labels = [case.label for case in EXERCISES[name].cases()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", LOW_BIT)
def test_every_code_occurs(name):
    for case in designed_cases(name):
        W_q = case.W_q[case.kept.bool()] if name == "pack_sparse" else case.W_q
        if W_q.numel() >= 2**case.nbits and not any(few in case.label for few in OF_FEW_CODES):
            assert W_q.unique().tolist() == list(range(2**case.nbits)), case.label


@pytest.mark.parametrize("name", GEMVS)
def test_every_k_meets_an_x(name):
    for case in designed_cases(name):
        if not case.label.endswith(OF_FEW_X):
            assert (case.x != 0).any(0).all(), case.label


@pytest.mark.parametrize("name", LOW_BIT)
def test_each_width_has_several_rows_and_tiles_and_a_ragged_one(name):
    cases = designed_cases(name)
    for nbits in {case.nbits for case in cases}:
        tile = 32 * (32 // nbits)
        shapes = [case.W_q.shape for case in cases if case.nbits == nbits]
        assert any(N > 1 and K > tile and K % tile for N, K in shapes), nbits


@pytest.mark.parametrize("name", GEMVS)
def test_kernels_meet_a_last_block_that_is_not_full(name):
    outputs = [right.shape[1] for _, right, _ in cases_of(name)]
    assert any(N > 32 and N % 32 for N in outputs)


@pytest.mark.parametrize("name", [name for name in LOW_BIT if name.startswith("dequant_dot")])
def test_neighbouring_rows_differ_in_scale_and_zero_point(name):
    of_the_largest_y = cases.of_many_rows().label  # by scales that may be equal
    for case in designed_cases(name):
        if case.label == of_the_largest_y:
            continue
        assert (case.scales[1:] != case.scales[:-1]).all(), case.label
        if case.zeros.any():
            assert (case.zeros[1:] != case.zeros[:-1]).all(), case.label


def test_the_first_warp_of_a_block_meets_small_and_large_zeros():
    found = [case.zeros[::32] for case in designed_cases("bug_1") if case.nbits == 8]
    zeros = {int(zero) for rows in found for zero in rows}
    assert min(zeros) == 0 and max(zeros) >= 200


def test_a_clone_lies_in_memory_as_its_case_does():
    codes = cases.codes(4, 3, 40, seed=0)
    for laid in (codes, as_parts(codes, "W_q"), as_transposes(codes, "W_q")):
        copy = clone(laid).W_q
        assert torch.equal(copy, codes.W_q) and copy.data_ptr() != laid.W_q.data_ptr()
        assert copy.stride() == laid.W_q.stride()
        assert copy.storage_offset() == laid.W_q.storage_offset()


def test_a_shape_without_exact_inputs_gets_a_sentence():
    def never(seed):
        raise AssertionError("outputs are not exact in fp16")

    with pytest.raises(ValueError, match="not exact in fp16\\): take a shorter sum"):
        cases.fresh(never, 7)


def test_each_width_has_products_and_zeros_that_half_precision_would_round():
    cases = [case for case, *_ in cases_of("dequant_dot")]
    for nbits in range(1, 9):
        of_width = [case for case in cases if case.nbits == nbits]
        assert sum("almost cancel" in case.label for case in of_width) == 1
        assert sum("zeros of 22 bits" in case.label for case in of_width) == 1
        assert any((case.zeros < -(2**15)).any() for case in of_width)
        assert any((case.zeros > 2**15).any() for case in of_width)
        assert any((case.zeros == 2**nbits - 1).any() for case in of_width)
        assert any((0 < abs(case.x) * (abs(case.x) < 1e-3)).any() for case in of_width)


@pytest.mark.parametrize("name", ["bug_2", "bug_3"])
def test_each_draw_has_groups_shorter_than_a_warp_and_longer_than_two_tiles(name):
    for seed in range(0, 96, 5):
        cases = EXERCISES[name].fresh(seed)
        assert any(case.group_size < 32 for case in cases)
        longest = max(cases, key=lambda case: case.group_size)
        assert longest.group_size > max(256, 2 * 32 * (32 // longest.nbits))
        assert {case.x.dtype for case in cases} == {torch.float16, torch.bfloat16}


@pytest.mark.parametrize("name", ["scaled_dot", "bug_2", "bug_3"])
def test_each_check_of_groups_has_every_width_and_scales_of_24_bits_in_each(name):
    exercise = EXERCISES[name]
    for seed in range(8):
        fine = [case for case in [*exercise.cases(), *exercise.fresh(seed)] if is_fine(case)]
        assert {case.nbits for case in fine} == set(range(1, 9))
        for case in fine:
            weights = (case.W_q[::2].double() * case.scale_of_k[::2]) * (case.x != 0).any(0)
            cut = (weights.float().view(torch.int32) >> 8 << 8).view(torch.float32)
            rounded = case.x.double() @ cut.double().T
            assert not torch.equal(rounded, case.x.double() @ weights.T), case.label
            assert (case.zeros.abs() > 2**20).any()


def is_fine(case):
    return "scales of 24 bits" in case.label


@pytest.mark.parametrize("name", ["bug_1", "dequant_dot_dp4a", "dequant_dot"])
def test_each_check_of_words_has_every_width(name):
    exercise = EXERCISES[name]
    for seed in range(3):
        cases = [*exercise.cases(), *exercise.fresh(seed)]
        assert {case.nbits for case in cases} == set(range(1, 9))


def test_lanes_hold_numbers_of_23_bits_of_every_magnitude():
    for seed in range(20):
        case = EXERCISES["warp_reduce_sum"].fresh(seed)[1]
        x, W = case.x.double(), case.W.double()
        lanes = (x[:, None] * W).unflatten(2, (2, 32)).sum(2)
        units = x.abs().amin(1)[:, None]
        assert units.min() == 2**-24 and units.max() >= 8
        assert (lanes.abs().sum(2) < 2**24 * units).all()
        assert ((lanes / units[..., None]).abs().amax(2)[:, ::2] >= 2**22).all()
        cut = (lanes.float().view(torch.int32) >> 2 << 2).view(torch.float32).double()
        assert (cut.sum(2) != lanes.sum(2)).any()


@pytest.mark.parametrize("name", ["dequant_pair", "dequant_pair_table"])
def test_some_words_have_four_equal_bytes_and_some_one_code_in_each_half(name):
    k = torch.arange(128)
    word = k // 64 * 8 + k // 2 % 8
    shift = k % 2 * 16 + k // 16 % 4 * 4
    found = set()
    for case in EXERCISES[name].cases():
        if case.W_q.shape[1] == 128:
            words = torch.zeros(len(case.W_q), 16, dtype=torch.int64)
            words.index_add_(1, word, case.W_q.long() << shift)
            found |= set(words.flatten().tolist())
    assert {byte * 0x01010101 for byte in range(256)} <= found
    assert {a * 0x11110000 + b * 0x1111 for a in range(16) for b in range(16)} <= found
