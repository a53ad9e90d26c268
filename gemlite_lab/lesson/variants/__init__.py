"""Kernels as learners change them, to test `estimate` on: measured by tools/record_variants.py."""

from gemlite_lab.lesson.variants import own_kernels, packed, unpacked
from gemlite_lab.lesson.variants.variant import Variant

VARIANTS = (*unpacked.VARIANTS, *packed.VARIANTS, *own_kernels.VARIANTS)

__all__ = ["VARIANTS", "Variant"]
