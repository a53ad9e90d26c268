"""Kernels as learners change them, to test `estimate` on: measured by tools/record_variants.py.

LATER were written and measured after the calibration that data/estimate_nvidia_h200.json holds.
"""

from gemlite_lab.lesson.variants import (
    later_packed,
    later_unpacked,
    own_kernels,
    packed,
    unpacked,
)
from gemlite_lab.lesson.variants.variant import Variant

VARIANTS = (*unpacked.VARIANTS, *packed.VARIANTS, *own_kernels.VARIANTS)
LATER = (*later_unpacked.VARIANTS, *later_packed.VARIANTS)

__all__ = ["LATER", "VARIANTS", "Variant"]
