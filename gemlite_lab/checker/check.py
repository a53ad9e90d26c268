"""check(name, answer): run an answer on inputs that make wrong ones fail, and name the mistake."""

import secrets
from contextlib import nullcontext
from functools import partial

import torch

from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.runners.builds_ahead import built_ahead
from gemlite_edu.runners.interpreter.watched import doubts_postponed
from gemlite_edu.runners.simulator.kept_loads import loads_kept
from gemlite_lab.checker import triton_answers
from gemlite_lab.checker.all_steps import ALL_STEPS
from gemlite_lab.checker.attainable_tflops import ATTAINABLE_TFLOPS
from gemlite_lab.checker.benchmark_scripts import BENCHMARK_EXERCISES
from gemlite_lab.checker.best_scale import BEST_SCALE
from gemlite_lab.checker.climb import CLIMB
from gemlite_lab.checker.compare import compare, first_wrong, is_close
from gemlite_lab.checker.compiled_for_gpu import compiled_for_gpu
from gemlite_lab.checker.cuda_c import CUDA_C_EXERCISES
from gemlite_lab.checker.dense_gemv import DENSE_GEMV
from gemlite_lab.checker.dequant_dot import DEQUANT_DOT_4BIT, DEQUANT_DOT_EXERCISES
from gemlite_lab.checker.dequant_dot_planes import DEQUANT_DOT_PLANES
from gemlite_lab.checker.dequant_dot_sparse import DEQUANT_DOT_SPARSE
from gemlite_lab.checker.dequant_pair import DEQUANT_PAIR
from gemlite_lab.checker.dequant_pair_table import DEQUANT_PAIR_TABLE
from gemlite_lab.checker.diagnosis import diagnosis_or_doubts
from gemlite_lab.checker.doubtful_lines import doubtful_lines_named
from gemlite_lab.checker.exercise import CheckFailed, clone, tensors_of
from gemlite_lab.checker.floor_us import FLOOR_US
from gemlite_lab.checker.four_codes import FOUR_CODES
from gemlite_lab.checker.fragment_shape import FRAGMENT_SHAPE
from gemlite_lab.checker.fused_gemv import FUSED_GEMV
from gemlite_lab.checker.gemv_revsplitk import GEMV_REVSPLITK
from gemlite_lab.checker.given_text import refuse_text_as_given
from gemlite_lab.checker.integer_dot import INTEGER_DOT_EXERCISES
from gemlite_lab.checker.mixed_mm_transposed import MIXED_MM_TRANSPOSED
from gemlite_lab.checker.mma_rows import MMA_ROWS
from gemlite_lab.checker.mxfp4_encode import MXFP4_ENCODE
from gemlite_lab.checker.notes import has_rungs
from gemlite_lab.checker.objections import objections_postponed
from gemlite_lab.checker.order_of_atomics import other_orders, refuse_dependence_on_order
from gemlite_lab.checker.pack import PACK
from gemlite_lab.checker.pack_sparse import PACK_SPARSE
from gemlite_lab.checker.quantize_tokens import QUANTIZE_TOKENS
from gemlite_lab.checker.runnable import error_of, runnable
from gemlite_lab.checker.same_on_a_gpu import refuse_what_differs_on_a_gpu
from gemlite_lab.checker.scaled_dot import SCALED_DOT_EXERCISES
from gemlite_lab.checker.shared_kernels import SHARED_EXERCISES
from gemlite_lab.checker.splitk_group import SPLITK_GROUP
from gemlite_lab.checker.splitk_scales import SPLITK_SCALES
from gemlite_lab.checker.triton_text import refuse_foreign, refuse_in_right_ones
from gemlite_lab.checker.unfinished import refuse_stub, refuse_unfinished_rung, text_of_python
from gemlite_lab.checker.unpack import UNPACK
from gemlite_lab.checker.unpack_tile import UNPACK_TILE
from gemlite_lab.checker.warp_reduce import WARP_REDUCE_SUM
from gemlite_lab.checker.who_takes import WHO_TAKES
from gemlite_lab.checker.words_of_lane import WORDS_OF_LANE
from gemlite_lab.lesson import record
from gemlite_lab.lesson.kept_answers import keep_answer
from gemlite_lab.sandbox.sandbox import AnswerError

_BY_LESSON = (
    BEST_SCALE,
    *(PACK, UNPACK, *CUDA_C_EXERCISES, WARP_REDUCE_SUM),
    *SHARED_EXERCISES,
    *(WORDS_OF_LANE, DEQUANT_DOT_4BIT, FUSED_GEMV),
    *(*DEQUANT_DOT_EXERCISES, DEQUANT_DOT_PLANES, *SCALED_DOT_EXERCISES),
    *(PACK_SPARSE, DEQUANT_DOT_SPARSE),
    *INTEGER_DOT_EXERCISES,
    CLIMB,
    *(DENSE_GEMV, UNPACK_TILE, GEMV_REVSPLITK),
    *(MMA_ROWS, SPLITK_GROUP),
    *(DEQUANT_PAIR, DEQUANT_PAIR_TABLE),
    WHO_TAKES,
    QUANTIZE_TOKENS,
    *(MIXED_MM_TRANSPOSED, SPLITK_SCALES),
    *(FOUR_CODES, ALL_STEPS, FRAGMENT_SHAPE),
    MXFP4_ENCODE,
    *(FLOOR_US, ATTAINABLE_TFLOPS, *BENCHMARK_EXERCISES),
)
EXERCISES = {exercise.name: exercise for exercise in _BY_LESSON}
_RUNGS = """\
Easier starts, in a new cell, after `from gemlite_lab import rung`:
  rung("{0}", "blanks")  our lines, the deciding expressions left blank
  rung("{0}", "order")   all of our lines, shuffled"""
_OWN_PACKAGES = ("gemlite_edu", "gemlite_lab")
_NO_ERROR = 1e-6  # a smaller part of what is allowed comes of the last bits of float64


def check(name, answer, seed=None):
    """Judge `answer` to exercise `name`: print a summary, or raise CheckFailed if it is wrong.

    answer: the learner's function, or the text of the learner's CUDA function.
    The checker computes the right output first, fills outputs with NaN before a run, and afterwards
    compares the inputs with clones. The last case has new inputs each time, or those that `seed`
    draws. CUDA runs in the simulator and Triton in its interpreter; then both run on the GPU if
    there is one.
    """
    exercise = _find(name)
    judge(exercise, answer, secrets.randbelow(2**31) if seed is None else seed)
    if exercise.lesson:
        _record_solved(exercise, answer)


def judge(exercise, answer, seed):
    """As `check`, with the fresh cases that `seed` draws; it records nothing."""
    _check_kind(exercise, answer)
    devices = ["cpu"] + ["cuda"] * (exercise.runs_on_gpu and torch.cuda.is_available())
    for device in devices:
        with (
            runnable(exercise, answer, device) as runs,
            triton_answers.compiled_beside(exercise, answer, device) as compiling,
            compiled_for_gpu(exercise, answer, device) as what_was_not_compiled,
            doubtful_lines_named(exercise, answer),
            loads_kept(),
            objections_postponed(),
        ):
            first, *others = exercise.cases_on(device)
            fresh = exercise.fresh(seed)
            lines = [_check_case(exercise, runs, first, device)]
            if exercise.is_kernel:
                refuse_what_differs_on_a_gpu(exercise.name, answer)
            compiling.begin()
            with _built_ahead(exercise, runs, [*others, *fresh], device):
                lines += [_check_case(exercise, runs, case, device) for case in others]
                for case in fresh:
                    _check_case(exercise, runs, case, device)
            if exercise.is_triton:
                refuse_in_right_ones(exercise.name, triton_answers.text_of(exercise.name, answer))
            compiling.finish()
            note = what_was_not_compiled() + triton_answers.not_run_on_gpu(exercise)
        _print_summary(exercise, device, lines, note)


def _print_summary(exercise, device, lines, note):
    where = "" if device == "cpu" else " on your GPU"
    exact = sum(line is None for line in lines)
    within = f"within {exercise.tolerance} in every case"
    how = f"bit for bit in {exact} cases" if exact else within
    print(f"{exercise.name}: right{where}, {how}")
    print("".join(f"{line}\n" for line in lines if line), end=note)


def _record_solved(exercise, answer):
    if not record.record(exercise.name, record.SOLVED):
        print("  (not recorded: the current folder is in no workbook)")
    text = answer if exercise.is_kernel else text_of_python(getattr(answer, "fn", answer))
    if text:
        keep_answer(exercise.name, text, ".cu" if exercise.is_kernel else ".py")


def _built_ahead(exercise, answer, cases, device):
    """A context in which the kernels for the next cases are built while one case runs."""
    if not exercise.is_kernel or device != "cpu":
        return nullcontext()
    return built_ahead([partial(exercise.run, answer, case, device) for case in cases])


def hint(name, level=1):
    """Print hint 1, 2 or 3 for exercise `name`. Later hints say more; none shows the code.

    Hint 1 names the easier starts too, where there are some. For any other level it prints which
    levels there are.
    """
    hints = dict(enumerate(_find(name).hints, 1))
    if level in hints:
        print(hints[level])
        if level == 1 and has_rungs(name):
            print(_RUNGS.format(name))
    else:
        print(f'{name} has hints 1 to {len(hints)}: hint("{name}", {len(hints)}) says the most')


def _find(name):
    if name not in EXERCISES:
        raise ValueError(f"there is no exercise {name!r}; there are {', '.join(EXERCISES)}")
    return EXERCISES[name]


def _check_kind(exercise, answer):
    if exercise.is_kernel:
        if not isinstance(answer, str):
            came = type(answer).__name__
            raise TypeError(f"{exercise.name} must be the text of a CUDA function, got {came}")
        refuse_stub(exercise.name, answer)
        refuse_unfinished_rung(exercise, answer)
        refuse_text_as_given(exercise, answer)
    elif not callable(answer):
        raise TypeError(f"{exercise.name} must be a function, got {type(answer).__name__}")
    elif (getattr(answer, "__module__", None) or "").split(".")[0] in _OWN_PACKAGES:
        raise CheckFailed(
            f"{exercise.name} is {answer.__module__}.{answer.__qualname__}, "
            "which the package brings: write it yourself"
        )
    elif exercise.is_triton:
        text = triton_answers.text_of(exercise.name, answer)
        refuse_stub(exercise.name, text)
        refuse_unfinished_rung(exercise, text)
        refuse_foreign(exercise.name, text)
    else:
        refuse_unfinished_rung(exercise, text_of_python(answer))


def _check_case(exercise, answer, case, device):
    """None for an exact match, or a line with the error and its bound for a match within rounding.

    The line is empty for an error that is next to nothing.

    Raises CheckFailed for any other output.
    """
    expected, bound = exercise.expected(case)
    given = clone(case)
    with doubts_postponed() as doubts, other_orders(exercise, answer, bound) as outcomes:
        actual = _run(exercise, answer, given, device)
    for name, tensor in tensors_of(case).items():
        if not torch.equal(tensor, tensors_of(given)[name]):
            float_is_it = f"; {name}.float() is {name} itself, which is float32 already"
            raise CheckFailed(
                f"{exercise.name} changed its input {name}: work on a copy"
                + float_is_it * (tensor.dtype == torch.float32 and not exercise.is_triton)
            )
    mismatch = compare(exercise.output, actual, expected, bound, exercise.dtype)
    if mismatch:
        raise CheckFailed(
            f"{exercise.name} is wrong on {case.label}: {mismatch}."
            + _inputs_of_first_wrong(exercise, case, actual)
            + diagnosis_or_doubts(exercise, answer, case, actual, doubts)
        )
    if doubts:
        raise doubts[0]
    refuse_dependence_on_order(exercise, case, outcomes, expected)
    if bound is None:
        return None
    error = (actual.double() - expected.double()).abs()
    position = error.argmax()
    if not (error > _NO_ERROR * bound).any():
        return ""
    return (
        f"  {case.label}: largest error {error.flatten()[position]:.1e}, "
        f"allowed there {bound.flatten()[position]:.1e}"
    )


def _inputs_of_first_wrong(exercise, case, actual):
    """A line with the inputs of the first wrong element, where the exercise shows them."""
    expected, bound = exercise.expected(case)
    if not isinstance(actual, torch.Tensor) or actual.shape != expected.shape:
        return ""
    if is_close(actual, expected, bound).all():  # then it is the dtype that is wrong
        return ""
    inputs = exercise.inputs_of(case, first_wrong(actual, expected, bound))
    return f"\n{inputs}" if inputs else ""


def _run(exercise, answer, case, device):
    try:
        actual = exercise.run(answer, case, device)
    except (CheckFailed, KernelTextError):
        raise
    except KernelFault as fault:
        raise KernelFault(f"{fault}\nThat was on {case.label}.") from None
    except AnswerError as error:
        raise error_of(exercise, case, error) from None
    except Exception as error:
        raise CheckFailed(
            f"{exercise.name} raised {type(error).__name__} on {case.label}: {error}"
        ) from error
    if actual is None:
        raise CheckFailed(f"{exercise.name} returned None: write it, and return {exercise.output}")
    return actual
