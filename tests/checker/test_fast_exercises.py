"""The inputs of dequant_pair and dequant_pair_table: nothing taken wrongly can hide in them."""

import re
from pathlib import Path

import pytest
import torch

from gemlite_edu.numbers.formats import NF4
from gemlite_lab.checker import EXERCISES, dequant_pair_table
from gemlite_lab.lesson.course import find_lesson

ROOT = Path(__file__).parent.parent.parent
NAMES = ("dequant_pair", "dequant_pair_table")
every_exercise = pytest.mark.parametrize("name", NAMES)


def exact_cases(name):
    return [case for case in EXERCISES[name].cases() if case.is_exact]


@every_exercise
def test_every_code_stands_in_every_field_of_both_halves(name):
    for case in exact_cases(name)[1:]:
        codes = torch.nn.functional.pad(case.W_q, (0, -case.W_q.shape[1] % 128), value=255)
        planes = codes.reshape(len(codes), -1, 2, 4, 8, 2)  # tile, upper, f, pair, half
        for f in range(4):
            for half in range(2):
                found = planes[:, :, :, f, :, half].unique()
                assert found[found < 255].tolist() == list(range(16)), (case.label, f, half)


@every_exercise
def test_rows_groups_and_sizes_of_x_are_many(name):
    cases = exact_cases(name)
    assert {len(case.x) for case in cases} == {128, 16, 2, 1}
    assert {case.group_size for case in cases} == {32, 128, 256}
    sizes = torch.cat([case.x.flatten() for case in cases]).abs()
    assert sizes.max() == 2.0**15 and 0 < sizes[sizes > 0].min() < 2.0**-14


@pytest.mark.parametrize(
    "name, values, quantum",
    [
        (NAMES[0], 64 + torch.arange(16.0), 1.0),  # an answer may leave 64 on the codes
        (NAMES[1], torch.tensor(NF4.levels).half(), 2.0**-12),
    ],
)
def test_sums_are_exact_in_float32_in_any_order(name, values, quantum):
    values = values.double()
    assert torch.equal(values % quantum, 0 * values)
    for case in exact_cases(name):
        x, weights = case.x.double().abs(), values[case.W_q.long()].abs() + case.zero_of_k
        step_of_x = x.masked_fill(x == 0, torch.inf).amin(1)
        assert torch.equal(x % step_of_x[:, None], 0 * x)
        steps = quantum * step_of_x[:, None] * case.scales.double().amin(1)
        assert (x @ (weights * case.scale_of_k).T <= 2**24 * steps).all(), case.label


@every_exercise
def test_no_right_y_is_beyond_what_a_half_holds(name):
    for case in EXERCISES[name].cases():
        y, _ = EXERCISES[name].expected(case)
        assert y.isfinite().all() and (y != 0).float().mean() > 0.5, case.label


def test_the_table_is_that_of_the_notebook():
    levels = torch.tensor(NF4.levels).half()
    assert torch.equal(levels.double(), dequant_pair_table._LEVELS)
    bits = [f"0x{int(level.view(torch.int16)) & 0xFFFF:04x}" for level in levels]
    notebook = (ROOT / "exercises" / find_lesson("ladder_instructions").file).read_text()
    table = re.search(r"LEVELS\[16\] = \{(.*?)\}", notebook, re.DOTALL)[1]
    assert re.findall(r"0x\w{4}", table) == bits
