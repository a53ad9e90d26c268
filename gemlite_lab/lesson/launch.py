"""`launch`: run a small kernel of your own in the simulator."""

import re

import torch

from gemlite_edu.kernels.holes import check_text
from gemlite_edu.runners import simulator

_TIME_LIMIT = 1.0  # seconds of processor time
_HEADERS = "#include <cuda_fp16.h>\n#include <cstdint>\n"
_SIGNATURE = re.compile(r"__global__\s+void\s+(\w+)\s*\(([^)]*)\)")
_POINTER = re.compile(r"(const\s+)?(\w+)\s*\*\s*(\w+)")
_TYPES = {
    "float": (torch.float32,),
    "double": (torch.float64,),
    "half": (torch.float16,),
    "int": (torch.int32,),
    "uint32_t": (torch.int32, torch.uint32),
    "uint8_t": (torch.uint8,),
    "int8_t": (torch.int8,),
}
_INTEGER = re.compile(r"(?:const\s+)?int\s+(\w+)")


def launch(text, blocks, threads, header="", window=None, **arguments):
    """Run the kernel in `text` with `blocks` blocks of `threads` threads each.

    header: what the kernel may call, such as `MMA`.
    arguments: a contiguous CPU tensor for each pointer of the kernel and an int for each int, by
    the parameters' names. The kernel writes into the tensors of those pointers that are not const,
    which keep their numbers if the run breaks off. Prints each fault that the simulator finds.
    window: a `Window` of steps to record; then returns the `Report`, for `play`.
    """
    name, parameters = _signature(text)
    missing, unknown = parameters.keys() - arguments.keys(), arguments.keys() - parameters.keys()
    if missing or unknown:
        raise TypeError(
            f"{name} takes {', '.join(parameters)}: launch(text, blocks, threads, ...) needs each "
            f"of them by its name, got {', '.join(arguments) or 'none'}"
        )
    check_text(name, text)
    given = [_argument(*kind, key, arguments[key]) for key, kind in parameters.items()]
    how = simulator.Launch((blocks, 1), threads)
    report = inspect_small(name, text, given, how, header, window=window or simulator.NO_WINDOW)
    for finding in report.findings:
        print(finding)
    return report if window else None


def inspect_small(
    name, text, arguments, how, header="", once_built=lambda: None, window=simulator.NO_WINDOW
):
    """The `Report` of a launch of the kernel `name` in a learner's text; lines are the text's own.

    how: a `Launch`. header: what the kernel may call. once_built: called between compiling and
    running. window: of steps to record. Raises KernelTextError if the text does not compile.
    """
    source = with_headers(name, text, header)
    library = simulator.build_instrumented_kernel(source, name, {}, {name: text})
    once_built()
    title = f"{name}: {how}"
    return simulator.inspect_kernel(
        library, source, arguments, how, _TIME_LIMIT, title, window=window
    )


def with_headers(name, text, header=""):
    """The text as a compiler gets it: it knows half and uint32_t, and counts the text's lines.

    header: what the text may call beside these.
    """
    own_lines = text.removeprefix("\n")
    return f'{_HEADERS}{header}// BEGIN HOLE {name}\n#line 1 "{name}"\n{own_lines}\n'


def _signature(text):
    """The name of the kernel in `text`, and {parameter: ("input", "output" or "int", C type)}."""
    found = _SIGNATURE.search(text)
    if not found:
        raise ValueError("the text has no kernel: it begins with __global__ void name(...)")
    parameters = {}
    for parameter in filter(None, map(str.strip, found[2].split(","))):
        pointer, integer = _POINTER.fullmatch(parameter), _INTEGER.fullmatch(parameter)
        if pointer:
            parameters[pointer[3]] = "input" if pointer[1] else "output", pointer[2]
        elif integer:
            parameters[integer[1]] = "int", "int"
        else:
            raise ValueError(
                f"a parameter is a pointer or an int, such as float* y, not {parameter}"
            )
    return found[1], parameters


def _argument(kind, type_in_c, name, value):
    wanted = int if kind == "int" else torch.Tensor
    if not isinstance(value, wanted) or isinstance(value, bool):
        what = "an int" if kind == "int" else "a tensor"
        raise TypeError(f"{name} takes {what}, got {type(value).__name__}")
    if kind == "int":
        return simulator.Integer(value)
    fitting = _TYPES.get(type_in_c)
    if fitting and value.dtype not in fitting:
        raise TypeError(
            f"the kernel takes {name} as {type_in_c}, so {name} must be a tensor of {fitting[0]}, "
            f"got {value.dtype}"
        )
    return simulator.Tensor(name, value, is_output=kind == "output")
