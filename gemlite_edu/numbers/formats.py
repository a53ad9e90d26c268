"""4-bit formats whose levels come from a table instead of a linear formula.

NF4: the 16 levels of the 4-bit NormalFloat, Dettmers et al. 2023, arXiv 2305.14314, appendix E.
FP4_E2M1: sign, 2 exponent bits of bias 1, 1 mantissa bit; OCP Microscaling Formats v1.0, table 5.
"""

NF4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)

_FP4_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
FP4_E2M1 = _FP4_MAGNITUDES + tuple(-magnitude for magnitude in _FP4_MAGNITUDES)
