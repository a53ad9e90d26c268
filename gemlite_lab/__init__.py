"""The workbook's machinery: benchmarks, pictures, predictions, and the checker.

You use it from a clone of the repository; the wheel does not contain it.
"""

from importlib import import_module

_NAMES_OF = {
    "bench.estimate": ("estimate",),
    "lesson": ("guesses", "predict", "read", "read_triton", "recall", "reveal"),
    "lesson.launch": ("launch",),
    "lesson.launch_triton": ("launch_triton",),
    "lesson.generate": ("generate", "output_rows"),
    "lesson.llama": ("Cache", "Llama"),
    "lesson.one_row": ("one_row_kernel",),
    "lesson.own_ladder": ("own_ladder", "score"),
    "lesson.parses": ("cut_unfinished", "parses"),
    "lesson.mma": ("MMA",),
    "lesson.real_layer": ("LAYERS", "real_block", "real_layer"),
    "lesson.small_llama": (
        *("bits_per_byte", "calibration", "encode", "held_out", "prompt", "small_llama"),
        "tokenizer",
    ),
    "lesson.toy_card": ("ToyCard",),
    "lesson.triton_names": ("load_tile", "planes_sum", "scaled", "shifted", "tile_sum"),
    "draw": ("play", "show"),
    "sandbox.triton_products": ("splitk_group_product", "splitk_scales_product"),
    "checker": ("CheckFailed", "check", "hint"),
    "checker.assemble": ("assemble",),
    "checker.own_page": ("own_page",),
    "checker.progress": ("course", "progress"),
    "checker.rungs": ("rung",),
    "checker.workbook": ("give_up", "reset", "solution"),
}
_HOME = {name: module for module, names in _NAMES_OF.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'gemlite_lab' has no attribute {name!r}")
    return getattr(import_module(f"gemlite_lab.{_HOME[name]}"), name)


def __dir__():
    return sorted([*globals(), *_HOME])
