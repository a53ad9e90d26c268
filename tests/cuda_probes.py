"""Small CUDA texts with the verdict of nvcc on each, for the rules on a learner's text.

tests/kernels/cuda_probes.json has {name: probe}. `before` and `inside` are what the probe writes
before and inside its function. `nvcc` is the error of nvcc, "" if it compiles;
tools/nvcc_verdicts.py asks nvcc anew. `refused_by` says who refuses the probe without nvcc: the
"rules", stricter than nvcc in a few cases; the compiler of the "simulator"; or "nvcc only".
"""

import json
import re
from pathlib import Path

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.machine import SIMULATED

FILE = Path(__file__).parent / "kernels" / "cuda_probes.json"
KERNEL, HOLE = "gemv_a16wn_fp32", "dequant_dot"
_SPEC = KERNELS[KERNEL].completed(nbits=4)
LAUNCH = _SPEC.plan(1, 32, 640, SIMULATED).product


def probes():
    """{name: probe}."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def save(found):
    """Write the probes, one line for each."""
    lines = (
        f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(probe, ensure_ascii=False)}"
        for name, probe in found.items()
    )
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def answer_of(probe):
    """The text that a learner would write into the hole."""
    return (
        f"{probe.get('before', '')}\n"
        f"__device__ float {HOLE}(uint32_t word, const X_T* x, float zero) {{\n"
        f"  float sum = zero;\n  {probe.get('inside', '')}\n  return sum;\n}}\n"
    )


def in_namespaces(answers):
    """One text with the kernel up to its hole, and each of {name: answer} in a namespace."""
    before, _, _ = sources.expand(KERNEL).partition(f"// BEGIN HOLE {HOLE}")
    macros = {name: re.findall(r"^ *#define (\w+)", text, re.M) for name, text in answers.items()}
    pieces = (
        f'namespace {name} {{\n#line 1 "{name}"\n{answer}\n#line 1 "between"\n}}\n'
        + "".join(f"#undef {macro}\n" for macro in macros[name])
        for name, answer in answers.items()
    )
    return before + "\n" + "".join(pieces)


def kernel_of(answer):
    """The whole text of the kernel with this answer, whatever the rules say of it."""
    shipped = sources.hole(HOLE, KERNEL)
    return sources.expand(KERNEL).replace(shipped, f'#line 1 "{HOLE}"\n{answer}\n')
