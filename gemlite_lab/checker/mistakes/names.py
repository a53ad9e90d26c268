"""`explanations`: the mistakes that the models find behind a wrong output, in words."""

from itertools import takewhile

import torch

from gemlite_lab.checker.compare import is_close
from gemlite_lab.checker.exercise import clone, tensors_of
from gemlite_lab.checker.mistakes.equal_errors import BEST_SCALE
from gemlite_lab.checker.mistakes.floor import FLOOR
from gemlite_lab.checker.mistakes.formats import FP4_DOT, INTEGER_DOT, NF4_DOT, SIGNED
from gemlite_lab.checker.mistakes.four_codes import FOUR_CODES
from gemlite_lab.checker.mistakes.grouped_dots import GROUPED_DOT
from gemlite_lab.checker.mistakes.lane_sums import LANE_SUMS
from gemlite_lab.checker.mistakes.mxfp4 import MXFP4
from gemlite_lab.checker.mistakes.packing import PACK, UNPACK
from gemlite_lab.checker.mistakes.pairs import PAIR, PAIR_TABLE
from gemlite_lab.checker.mistakes.plane_dots import PLANE_DOT
from gemlite_lab.checker.mistakes.revsplitk import REVSPLITK
from gemlite_lab.checker.mistakes.roofline import ROOFLINE
from gemlite_lab.checker.mistakes.sparse_dots import SPARSE_DOT
from gemlite_lab.checker.mistakes.sparse_packing import PACK_SPARSE
from gemlite_lab.checker.mistakes.tiles import UNPACK_TILE
from gemlite_lab.checker.mistakes.tokens import TOKENS
from gemlite_lab.checker.mistakes.transposed import TRANSPOSED
from gemlite_lab.checker.mistakes.triton_products import SPLITK_GROUP, SPLITK_SCALES
from gemlite_lab.checker.mistakes.whole_gemv import WHOLE_GEMV
from gemlite_lab.checker.mistakes.word_dots import WORD_DOT

MODELS = {
    "mixed_mm_transposed": TRANSPOSED,
    "dequant_pair": PAIR,
    "dequant_pair_table": PAIR_TABLE,
    "dequant_dot_signed": SIGNED,
    "dequant_dot_nf4": NF4_DOT,
    "dequant_dot_fp4": FP4_DOT,
    "dequant_dot_dp4a": INTEGER_DOT,
    "bug_1": INTEGER_DOT,
    "best_scale": BEST_SCALE,
    "floor_us": FLOOR,
    "attainable_tflops": ROOFLINE,
    "warp_reduce_sum": LANE_SUMS,
    "quantize_tokens": TOKENS,
    "mxfp4_encode": MXFP4,
    "four_codes": FOUR_CODES,
    "unpack_tile": UNPACK_TILE,
    "splitk_group": SPLITK_GROUP,
    "splitk_scales": SPLITK_SCALES,
    "gemv_revsplitk": REVSPLITK,
    "pack": PACK,
    "unpack": UNPACK,
    "pack_sparse": PACK_SPARSE,
    "dequant_dot": WORD_DOT,
    "dequant_dot_4bit": WORD_DOT,
    "dequant_dot_2bit": WORD_DOT,
    "dequant_dot_planes": PLANE_DOT,
    "fused_gemv": WHOLE_GEMV,
    "climb": WHOLE_GEMV,
    "scaled_dot": GROUPED_DOT,
    "bug_2": GROUPED_DOT,
    "bug_3": GROUPED_DOT,
    "dequant_dot_sparse": SPARSE_DOT,
}
_LARGEST_X = 80_000  # numbers, for which pairs of mistakes are tried too
_LARGEST_X_OF_ALL = 300_000
_MOST_TO_TELL_APART = {1: 20, 2: 6}  # sets of so many mistakes with one output on one case
_FEW = 32  # numbers of an output, which may be another mistake's by chance
_MOST = 2  # so many mistakes may give the same output in all cases


def explanations(exercise, answer, case, actual, size):
    """[(mistake in words, ...), ...]: sets of `size` mistakes, 1 or 2, that may give `actual`.

    Where several sets of mistakes give it, the answer runs on other cases, on which they differ.
    Two mistakes that give an output of one number have to give that of the other cases too. Cases
    before this one, in which the answer was right, contradict a mistake that is wrong there; where
    kernels take long to judge, only an output of few numbers is held to that.
    """
    if exercise.name not in MODELS:
        return []
    if actual.isinf().sum() > actual.numel() / 2:  # whatever is too large gives this output
        return []
    numbers = tensors_of(case).get("x", actual).numel()
    if numbers > (_LARGEST_X if size > 1 else _LARGEST_X_OF_ALL):  # it would take seconds
        return []
    model, is_equal = MODELS[exercise.name], _equality(exercise, case)
    contradicted = _contradicted(exercise, case) if size > 1 else ()
    found = model.explanations(case, actual, is_equal, size, contradicted)
    if actual.numel() <= _FEW or not exercise.is_kernel:
        found = [words for words in found if _fits_what_was_right(exercise, case, words)]
    fitted = None if found or size > 1 else model.fitted(case, actual, is_equal)
    if fitted:
        return [(fitted,)]
    if len(found) > _MOST_TO_TELL_APART[size]:
        return []
    may_be_chance = size > 1 and actual.numel() == 1
    for other in exercise.cases():
        is_telling = may_be_chance or len(found) > 1 and _differ_on(other, exercise, found)
        if found and other is not case and is_telling and getattr(other, "is_telling", True):
            confirmed = _confirmed(exercise, answer, other, found)
            # Where a kernel's sums are rounded, a model may be further off than the bound.
            if confirmed or not exercise.is_kernel or exercise.expected(other)[1] is None:
                found = confirmed
    if len(found) > (1 if size > 1 else _MOST):
        return []
    return found


def _contradicted(exercise, case):
    """The mistakes that show in an earlier case of the same width and types, which was right.

    They are left out of the thousands of pairs, each of which takes a millisecond and more.
    """
    earlier = takewhile(lambda other: other.label != case.label, exercise.cases())
    known = next((other for other in earlier if _kind(other) == _kind(case)), None)
    if known is None:
        return ()
    right, is_equal = exercise.expected(known)[0].double(), _equality(exercise, known)
    outputs = MODELS[exercise.name].outputs(known)
    return {words for words, output in outputs.items() if not is_equal(right, output, None)}


def _kind(case):
    """What an answer may distinguish: it may be right for one kind and wrong for another."""
    types = {name: tensor.dtype for name, tensor in tensors_of(case).items()}
    return getattr(case, "nbits", None), types


def _fits_what_was_right(exercise, case, words):
    """True if these mistakes leave the cases before this one right, in which the answer was right.

    An output may be that of another mistake by chance.
    """
    before = takewhile(lambda other: other.label != case.label, exercise.cases())
    return all(
        is_close(MODELS[exercise.name].wrong(other, words), *exercise.expected(other)).all()
        for other in before
    )


def _differ_on(case, exercise, found):
    outputs = [MODELS[exercise.name].wrong(case, words) for words in found]
    return any(not torch.equal(output, outputs[0]) for output in outputs[1:])


def _confirmed(exercise, answer, case, found):
    """Those of `found` that give what the answer gives on this case too; all if it fails there."""
    try:
        output = exercise.run(answer, clone(case), "cpu")
    except Exception:
        return found
    equality = _equality(exercise, case)
    model = MODELS[exercise.name]
    return [words for words in found if equality(output, model.wrong(case, words), None)]


def _equality(exercise, case):
    """is_equal(actual, wrong, numbers of rows) of `Model.explanations`, for this case."""
    _, bound = exercise.expected(case)
    axis = MODELS[exercise.name].axis

    def is_equal(actual, wrong, numbers):
        if bound is None:
            return bool(((actual == wrong) | actual.isnan() & wrong.isnan()).all())
        near = bound if numbers is None else bound.index_select(axis, numbers)
        return bool(is_close(actual, wrong, exercise.bound_around(wrong, near)).all())

    return is_equal
