"""Kernels as learners change them, to test `estimate` on: measured by tools/record_variants.py.

SETS holds them by when they were written:

- "first": before the calibration of commit f1af446, which saw one of their times.
- "second": after that calibration, which saw none of them.
- "third": after the calibration of commit b368022, which saw the first two sets and none of these.

That is the calibration that data/estimate_nvidia_h200.json holds. A set written after it gets a
name of its own here and a record of its own, and tests/bench/test_estimate.py tests on it.
"""

from gemlite_lab.lesson.variants import (
    later_packed,
    later_unpacked,
    own_kernels,
    packed,
    third_packed,
    third_unpacked,
    unpacked,
)
from gemlite_lab.lesson.variants.variant import Variant

SETS = {
    "first": (*unpacked.VARIANTS, *packed.VARIANTS, *own_kernels.VARIANTS),
    "second": (*later_unpacked.VARIANTS, *later_packed.VARIANTS),
    "third": (*third_unpacked.VARIANTS, *third_packed.VARIANTS),
}

__all__ = ["SETS", "Variant"]
