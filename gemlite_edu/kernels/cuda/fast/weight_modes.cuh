// What makes a weight of a code q: MODE, by the names of weight_modes.py.
#pragma once

enum WeightMode { NONE, SHIFT, SCALE, SHIFT_SCALE, FMA };  // q, q - z, q s, (q - z) s, q s + z
constexpr bool HAS_ZEROS = MODE != NONE && MODE != SCALE, HAS_SCALES = MODE >= SCALE;
