import sys
from pathlib import Path

import pytest

from gemlite_edu import load
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.pair_table import pair_table
from gemlite_lab.bench import instructions

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

import instruction_counts


def test_the_inner_loop_is_the_shortest_that_reads_a_word_of_x():
    once = [(0x10, "MOV", " R1, R2")]
    turn = [(0x20 + 16 * i, "LDS", " R0, [R1]") for i in range(32)]
    inner = [*turn, (0x220, "IADD3", " R1, R1, 0x20"), (0x230, "BRA", " 0x20")]
    outer = [(0x240, "BAR", ".SYNC"), (0x250, "BRA", " 0x10"), (0x260, "BRA", " 0x260")]
    loops = list(instruction_counts.loops_of(once + inner + outer))
    assert [len(loop) for loop in loops] == [34, 37]
    assert instruction_counts.inner_loop(loops, "LDS", 32) == ["LDS"] * 32 + ["IADD3", "BRA"]
    assert instruction_counts.inner_loop(loops, "BAR") == loops[1]


def test_every_kernel_with_codes_of_any_width_is_recorded():
    assert set(instructions.recorded()["kernels"]) == {
        name for name, launch in KERNELS.items() if launch.takes_nbits
    }


@pytest.fixture
def recorded():
    """The record, if nvcc is the one it is of."""
    try:
        version = instruction_counts.nvcc_version()
    except RuntimeError:
        pytest.skip("no nvcc")
    if version != instructions.recorded()["nvcc"]:
        pytest.skip(f"recorded with another nvcc than {version}")
    return instructions.recorded()


def test_the_record_is_what_nvcc_makes(recorded):
    assert instruction_counts.record() == recorded, "run tools/instruction_counts.py"


def test_a_table_takes_a_sixth_of_an_instruction_more_for_a_weight(recorded):
    """As docs/your_own_quantizer.md says."""
    kernel = load("gemv_a16wn_fast", nbits=4, group_size=128, replace=pair_table(range(16)))
    launch = kernel.plan(1, 4096, 4096).product
    (code,) = instruction_counts.machine_codes(
        [(instruction_counts.of_whole_tiles(kernel.source), launch.defines)]
    )
    loop = instruction_counts.inner_loop(instruction_counts.loops_of(code), "HMMA")
    plain = recorded["rungs"]["4"]["32 rows a warp"]
    more = len(loop) - plain["all"]
    assert loop.count("HMMA") * 8 == plain["weights"] and round(more / plain["weights"], 2) == 0.17
