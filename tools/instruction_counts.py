"""Count the machine instructions of the kernels' inner loops, for gemlite_edu/data.

python tools/instruction_counts.py (needs nvcc; cuobjdump comes with triton)
"""

import importlib.util
import json
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from gemlite_edu import cuda, instructions, sources
from gemlite_edu.launches import KERNELS

CODES_IN_WORD = 32  # of the 1-bit kernels, whose loop is one word a turn
INTEGER_UNIT = ("SHF", "LOP3", "PRMT", "I2F", "I2FP", "F2FP")
_DEFINES = {"W_NBITS": 1, "CODES_PER_GROUP": CODES_IN_WORD, "GROUP_SIZE": "0x7fffffff", "ROWS": 1}
_INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\d+ )?([A-Z0-9]+)(.*?);")


def record():
    """What instructions.recorded() reads, made anew."""
    names = [name for name, launch in KERNELS.items() if launch.takes_nbits]
    return {"nvcc": nvcc_version(), "kernels": {name: counts_of(name) for name in names}}


def nvcc_version():
    output = subprocess.run([cuda.find_nvcc(), "--version"], capture_output=True, text=True).stdout
    return re.search(r"V([\d.]+)", output)[1]


def counts_of(kernel):
    """Instructions of one turn of the kernel's inner loop."""
    opcodes = Counter(inner_loop(machine_code(kernel)))
    return {
        "weights": opcodes["LDS"],
        "all": opcodes.total(),
        "integer": sum(opcodes[name] for name in INTEGER_UNIT),
    }


def machine_code(kernel):
    """[(address, opcode, operands)] of the 1-bit kernel for sm_90."""
    x_type = "int8_t" if "a8" in kernel else "half"
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder) / "kernel.cu", Path(folder) / "kernel.cubin"
        text.write_text(sources.expand(kernel))
        defines = [f"-D{name}={value}" for name, value in ({"X_T": x_type} | _DEFINES).items()]
        command = [cuda.find_nvcc(), "-cubin", "-O3", "-std=c++17", "-arch=sm_90", *defines]
        subprocess.run([*command, str(text), "-o", str(binary)], check=True)
        command = [cuobjdump(), "-sass", str(binary)]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [(int(m[1], 16), m[2], m[3]) for m in _INSTRUCTION.finditer(listing)]


def cuobjdump():
    package = Path(importlib.util.find_spec("triton").origin).parent
    return package / "backends" / "nvidia" / "bin" / "cuobjdump"


def inner_loop(code):
    """Opcodes of the shortest loop that reads a word's x from shared memory."""
    loops = []
    for end, opcode, operands in code:
        target = re.search(r"0x([0-9a-f]+)", operands) if opcode == "BRA" else None
        if target and int(target[1], 16) < end:
            loops.append([op for address, op, _ in code if int(target[1], 16) <= address <= end])
    return min((loop for loop in loops if loop.count("LDS") == CODES_IN_WORD), key=len)


if __name__ == "__main__":
    instructions.PATH.write_text(json.dumps(record(), indent=1) + "\n")
