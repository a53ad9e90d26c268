"""Count the machine instructions of the kernels' inner loops, for gemlite_lab/data.

python tools/instruction_counts.py (needs nvcc; cuobjdump comes with triton)
"""

import importlib.util
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from one_text import in_one_text

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
_NBITS = (4, 2, 1)
_HAS_ALL_ROWS = "first_n + TILE_N <= N"  # of a tile; only the last one of W may not
_INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\d+ )?([A-Z0-9]+)(.*?);")


class CountedLoop(NamedTuple):
    """A build, and which of its loops is counted: see `inner_loop`."""

    text: str
    defines: dict
    opcode: str
    times: int | None = None

    def counts(self, code):
        """The record of the loop in the machine code of this build."""
        loop = inner_loop(loops_of(code), self.opcode, self.times)
        weights = self.times or loop.count(self.opcode) * _WEIGHTS_OF_A_PRODUCT
        integer = sum(loop.count(name) for name in INTEGER_UNIT)
        return {"weights": weights, "all": len(loop), "integer": integer}


def record():
    """A new record for instructions.recorded() to read."""
    names = [name for name, launch in KERNELS.items() if launch.takes_nbits]
    ladders = {
        nbits: {rung.name: of_rung(rung, nbits) for rung in rungs(nbits)} for nbits in _NBITS
    }
    return {
        "nvcc": nvcc_version(),
        "kernels": counts_of({name: of_kernel(name, nbits=1) for name in names}),
        "rungs": {str(nbits): counts_of(ladder) for nbits, ladder in ladders.items()},
    }


def counts_of(loops):
    """{name: the record of a `CountedLoop`}, from one run of nvcc."""
    codes = machine_codes([(loop.text, loop.defines) for loop in loops.values()])
    named = zip(loops.items(), codes, strict=True)
    return {name: loop.counts(code) for (name, loop), code in named}


def nvcc_version():
    output = subprocess.run([cuda.find_nvcc(), "--version"], capture_output=True, text=True).stdout
    return re.search(r"V([\d.]+)", output)[1]


def of_kernel(name, nbits, group_size=None):
    """A kernel's inner loop, which takes one word per turn."""
    spec = KERNELS[name].completed(nbits, group_size=group_size)
    launch = spec.plan(1, _ANY_N, _ANY_K, SIMULATED).product
    return CountedLoop(sources.expand(name), launch.defines, "LDS", 32 // nbits)


def of_rung(rung, nbits):
    """The same for a rung, which may make several tensor-core products per turn."""
    if rung.shape is None:
        return of_kernel(rung.kernel, nbits, GROUP_SIZE)
    kernel = RungKernel(rung, nbits)
    defines = kernel.plan(1, _ANY_N, _ANY_K).product.defines
    return CountedLoop(of_whole_tiles(kernel.source), defines, "HMMA")


def of_whole_tiles(text):
    """A text of gemv_a16wn_fast without what it does only for rows beyond N."""
    if _HAS_ALL_ROWS not in text:
        raise ValueError(f"the text has not {_HAS_ALL_ROWS}: say what it asks of a tile now")
    return text.replace(_HAS_ALL_ROWS, "true")


def machine_codes(builds):
    """[(address, opcode, operands)] of each (text, {macro: value}), compiled for sm_90."""
    names = [f"build_{i}_" for i in range(len(builds))]
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "kernels.cu", Path(folder) / "kernels.cubin"
        source.write_text(in_one_text(dict(zip(names, builds, strict=True))))
        command = [cuda.find_nvcc(), "-cubin", "-O3", "-std=c++17", "-arch=sm_90"]
        subprocess.run([*command, str(source), "-o", str(binary)], check=True)
        command = [cuobjdump(), "-sass", str(binary)]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    functions = listing.split("Function : ")[1:]
    return [_instructions(next(f for f in functions if name in f)) for name in names]


def _instructions(listing):
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
