"""Methods of tensors do in the interpreter what the functions of the same names do."""

import inspect

import pytest
import torch
import triton.language as tl
from triton.language import core

from gemlite_edu.runners.interpreter.methods import methods
from gemlite_edu.runners.triton import launch, replaced

WITH_AXIS = "argmax argmin cumprod cumsum flip max min sum".split()
OF_EACH = (
    "ceil cos erf exp exp2 floor log log2 ravel rsqrt sigmoid sin softmax sqrt sqrt_rn".split()
)
OF_INTEGERS = ["cdiv(3)", "sort(0)", "xor_sum(0)", "reduce_or(0)"]
CALLS = [*(f"{name}(0)" for name in WITH_AXIS), *(f"{name}()" for name in OF_EACH), *OF_INTEGERS]
KERNEL = """
def kernel(y_ptr):
    at = tl.arange(0, 4)
    x = at + 1{dot}
    tl.store(y_ptr + at, x.{name}({arguments}) * 1.0)
    tl.store(y_ptr + 4 + at, tl.{name}({all_arguments}) * 1.0)
"""


def results_of(call, tmp_path):
    name, arguments = call.removesuffix(")").split("(")
    dot = "" if call in OF_INTEGERS else ".0"
    all_arguments = f"x, {arguments}" if arguments else "x"
    text = KERNEL.format(name=name, arguments=arguments, all_arguments=all_arguments, dot=dot)
    path, namespace = tmp_path / "kernel.py", {"tl": tl}
    path.write_text(text)
    exec(compile(text, path, "exec"), namespace)
    y = torch.full((2, 4), torch.nan)
    launch(replaced("gemm_splitk", True, {"gemm_splitk": namespace["kernel"]}), True, (1,), y)
    return y


@pytest.mark.parametrize("call", CALLS)
def test_a_method_does_what_the_function_does(call, tmp_path):
    method, function = results_of(call, tmp_path)
    assert not method.isnan().any() and torch.equal(method, function)


def test_there_is_a_case_for_each_method():
    assert {call.partition("(")[0] for call in CALLS} == methods(tl).keys()


def test_they_are_tritons_own_again_after_a_launch(tmp_path):
    before = {name: inspect.getattr_static(core.tensor, name) for name in methods(tl)}
    results_of("sum(0)", tmp_path)
    assert {name: inspect.getattr_static(core.tensor, name) for name in before} == before
