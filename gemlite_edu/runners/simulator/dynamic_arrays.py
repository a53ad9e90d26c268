"""The shared memory whose size a launch asks for: `extern __shared__ T name[]`."""

import re

from gemlite_edu.kernels.machine import SIMULATED

_EXTERN_SHARED = re.compile(
    r"extern\s+__shared__\s+(?:__align__\s*\([^)]*\)\s*)?([\w:]+(?:\s+[\w:]+)*?)\s+(\w+)\s*\[\s*\]"
)


def dynamic_arrays(text):
    """{name: element type} of the extern __shared__ arrays in `text`."""
    return {name: element for element, name in _EXTERN_SHARED.findall(text)}


def define_dynamic_arrays(text):
    """Define `extern __shared__ T name[]` as large as a block may ask; CUDA sizes it at launch."""
    arrays = dynamic_arrays(text)
    if len(arrays) > 1:
        raise ValueError(
            f"{' and '.join(arrays)} are all extern __shared__, and CUDA gives them one address: "
            "declare one and point into it"
        )
    limit = SIMULATED.shared_bytes_per_block
    definitions = "".join(
        f"\nalignas(1024) thread_local {element} {name}[{limit} / sizeof({element})];"
        for name, element in arrays.items()
    )
    name = next(iter(arrays), "nullptr")
    return f"{definitions}\nSIM_FOR_RUNNER void* sim_dynamic_shared() {{ return {name}; }}"
