"""Count the machine instructions of the kernels' inner loops, for gemlite_lab/data.

python tools/instruction_counts.py (needs nvcc; cuobjdump comes with triton)
"""

import importlib.util
import json
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.runners import cuda
from gemlite_lab.bench import instructions
from gemlite_lab.bench.ladder import RungKernel, rungs
from gemlite_lab.bench.ladder.kernel import GROUP_SIZE

INTEGER_UNIT = ("SHF", "LOP3", "PRMT", "I2F", "I2FP", "F2FP")
_WEIGHTS_OF_A_PRODUCT = 8  # per lane: a tensor core takes 16 x 16 in one instruction
_ANY_N, _ANY_K = 4096, 4096
_INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\d+ )?([A-Z0-9]+)(.*?);")


def record():
    """A new record for instructions.recorded() to read."""
    names = [name for name, launch in KERNELS.items() if launch.takes_nbits]
    return {
        "nvcc": nvcc_version(),
        "kernels": {name: counts_of_kernel(name, nbits=1) for name in names},
        "rungs": {str(nbits): counts_of_ladder(nbits) for nbits in (4, 2, 1)},
    }


def nvcc_version():
    output = subprocess.run([cuda.find_nvcc(), "--version"], capture_output=True, text=True).stdout
    return re.search(r"V([\d.]+)", output)[1]


def counts_of_kernel(name, nbits, group_size=None):
    """Instructions in one turn of a kernel's inner loop, which takes one word per turn."""
    spec = KERNELS[name].completed(nbits, group_size=group_size)
    launch = spec.plan(1, _ANY_N, _ANY_K, SIMULATED).product
    loops = loops_of(machine_code(sources.expand(name), launch.defines))
    return counted(inner_loop(loops, "LDS", 32 // nbits), 32 // nbits)


def counts_of_rung(rung, nbits):
    """The same for a rung, which may make several tensor-core products per turn."""
    if rung.shape is None:
        return counts_of_kernel(rung.kernel, nbits, GROUP_SIZE)
    kernel = RungKernel(rung, nbits)
    launch = kernel.plan(1, _ANY_N, _ANY_K).product
    loop = inner_loop(loops_of(machine_code(kernel.source, launch.defines)), "HMMA")
    return counted(loop, loop.count("HMMA") * _WEIGHTS_OF_A_PRODUCT)


def counts_of_ladder(nbits):
    """{rung: its counts}, compiled side by side."""
    climb = rungs(nbits)
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(partial(counts_of_rung, nbits=nbits), climb))
    return {rung.name: counts for rung, counts in zip(climb, found, strict=True)}


def counted(loop, weights):
    """The record of a loop in which each lane takes this many weights per turn."""
    integer = sum(loop.count(name) for name in INTEGER_UNIT)
    return {"weights": weights, "all": len(loop), "integer": integer}


def machine_code(text, defines):
    """[(address, opcode, operands)] of a text compiled for sm_90."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "kernel.cu", Path(folder) / "kernel.cubin"
        source.write_text(text)
        options = [f"-D{name}={value}" for name, value in defines.items()]
        command = [cuda.find_nvcc(), "-cubin", "-O3", "-std=c++17", "-arch=sm_90", *options]
        subprocess.run([*command, str(source), "-o", str(binary)], check=True)
        command = [cuobjdump(), "-sass", str(binary)]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [(int(m[1], 16), m[2], m[3]) for m in _INSTRUCTION.finditer(listing)]


def cuobjdump():
    package = Path(importlib.util.find_spec("triton").origin).parent
    return package / "backends" / "nvidia" / "bin" / "cuobjdump"


def loops_of(code):
    """The opcodes of each loop."""
    for end, opcode, operands in code:
        target = re.search(r"0x([0-9a-f]+)", operands) if opcode == "BRA" else None
        if target and int(target[1], 16) < end:
            yield [op for address, op, _ in code if int(target[1], 16) <= address <= end]


def inner_loop(loops, opcode, times=None):
    """The shortest loop with this opcode; given `times`, with exactly that many of it."""
    found = (loop for loop in loops if loop.count(opcode) == (times or loop.count(opcode) or -1))
    return min(found, key=len)


if __name__ == "__main__":
    instructions.PATH.write_text(json.dumps(record(), indent=1) + "\n")
