"""Count the arithmetic of a kernel: how many operations each warp executes, loads and stores aside.

The host's compiler translates the kernel's own text with a counter in each basic block. It inlines
the text's functions and none of the simulator's, so that an intrinsic is one call. An operation is
an instruction that it makes of the text, except moves, or a call of such an intrinsic. A GPU's
compiler makes other instructions, but about in proportion.
"""

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from gemlite_edu.kernels.plan import Launch
from gemlite_edu.runners.simulator.arguments import Argument, Tensor
from gemlite_edu.runners.simulator.build import SHIM, build_changed
from gemlite_edu.runners.simulator.run import run_kernel

_WARP_SIZE = 32
_FLAGS = (
    "-O3 -g1 -gdwarf-4 -w -fsanitize-coverage=trace-pc -fno-inline "
    "-fno-tree-vectorize -fno-tree-slp-vectorize -fno-reorder-blocks -fno-split-loops "
    "-fno-reorder-blocks-and-partition -fno-unswitch-loops -fno-optimize-sibling-calls "
    "--param=max-completely-peeled-insns=8000 --param=max-completely-peel-times=64"
).split()
_UNROLL = re.compile(r"^([ \t]*#[ \t]*pragma[ \t]+)unroll\b[ \t]*\(?(\w*)\)?.*$", re.MULTILINE)
_INLINED = (
    "#undef __device__\n#define __device__ __attribute__((always_inline))\n"
    "#undef __noinline__\n#define __noinline__\n"
)
_TABLE = "operations.txt"
_COUNTER = "__sanitizer_cov_trace_pc"
_CALL = re.compile(r"^\s+(callq?|bl)\s+([\w.$]+)(?:@PLT)?")
_INSTRUCTION = re.compile(r"^\s+([a-z][\w.]*)\b\s*(.*)$")
_FUNCTION = re.compile(r"^((?!\.L)[\w.$]+):$")
_FILE = re.compile(r'^\s+\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_LINE = re.compile(r"^\s+\.loc\s+(\d+)\s+(\d+)")
# Moves, and what a GPU has not: the stack, returns, jumps that no condition decides.
_MOVE = re.compile(
    r"^(?:mov\w*|v?mov\w*|push\w*|pop\w*|ret\w*|leave\w*|jmp\w*|nop\w*|cltq|cltd|cqto|cwtl|endbr\w*"
    r"|ud2|rep|rex\w*|data16|b|br|ldr\w*|str\w*|ldp|stp|fmov|adrp|[su]xt\w*|dup|ins|umov)$"
)
_KINDS = {
    "multiply": re.compile(r"v?mul[sp][sd]$|fmul$"),
    "add": re.compile(r"v?(?:add|sub)[sp][sd]$|f(?:add|sub)$"),
    "integer multiply": re.compile(r"imul[lq]$|mul$"),
    "integer add": re.compile(r"(?:add|sub)[lq]?$"),
    "bits": re.compile(
        r"(?:s[ah][lr]x?|ro[lr]x?|and|or|xor|not)[bwlq]?$|v?cvt|andn|bextr"
        r"|[lar]s[lr]$|orr$|eor$|[usb]+fx$|[us]cvtf$"
    ),
}
_ZEROS = re.compile(r"^v?(?:pxor|xorps|xorl|xorq)$")
_ADDRESS_OF_OWN = re.compile(r"%rsp$|\(%rsp\), %r|\bsp, sp\b|@tls|%fs:|tprel|tlsdesc")
# The memory's part of the simulator's functions: reports count those accesses.
_MEMORY = re.compile(
    r"__ld[cgl]|__st[cgw]|sim_only_global|mem(?:cpy|move|set)|tls|_ZT[HW]|C[12]ERKS|aSERKS"
)


class Operations(NamedTuple):
    """Operations of all warps of a launch.

    all, bits: how many, and those on bits among them. executed: for each basic block of the kernel,
    (its lines of text as {"file:line"}, how often a warp executes it, summed over the warps).
    """

    all: float
    bits: float
    executed: tuple[tuple[frozenset[str], float], ...]


def count_operations(
    text: str, entry: str, arguments: Sequence[Argument], launch: Launch, time_limit: float
) -> Operations:
    """The `Operations` of a launch, which runs and writes its outputs.

    text, entry, launch.defines: as for `build_kernel`.
    """
    library = _counted_library(text, entry, launch.defines)
    table = [row.split() for row in (library.parent / _TABLE).read_text().splitlines()]
    blocks = [tuple(map(int, row[:2])) for row in table]
    grid = launch.grid[0] * launch.grid[1]
    warps = -(-launch.threads_per_block // _WARP_SIZE)
    counts = torch.zeros(len(blocks), grid, warps * _WARP_SIZE, dtype=torch.int32)
    counter = Tensor("operations", counts, is_output=True)
    run_kernel(library, [counter, *arguments], launch, time_limit)
    turns = counts.view(len(blocks), grid * warps, _WARP_SIZE).amax(2).sum(1).double()
    operations, on_bits = (turns @ torch.tensor(blocks, dtype=torch.float64)).tolist()
    executed = zip((frozenset(row[2:]) for row in table), turns.tolist(), strict=True)
    return Operations(operations, on_bits, tuple(executed))


def _counted_library(text: str, entry: str, defines: Mapping[str, object]) -> Path:
    text = _INLINED + _UNROLL.sub(_for_the_host, text)
    return build_changed(text, entry, defines, [*_FLAGS, _own_version()], _with_counters)


@cache
def _own_version() -> str:
    """A flag that makes the header count, and another build necessary after a change here."""
    return f"-DSIM_COUNTED={zlib.crc32(Path(__file__).read_bytes())}"


def _for_the_host(pragma: re.Match[str]) -> str:
    times = pragma[2] if pragma[2].isdigit() else "64"
    return f"{pragma[1]}GCC unroll {times}"


def _with_counters(assembly: str, folder: Path) -> str:
    """The assembly with numbered counters; writes the `_totals` of each block into the folder."""
    lines: list[str] = []
    blocks: list[tuple[Counter[str], set[str]]] = []
    found: Counter[str] = Counter()
    places: set[str] = set()
    files: dict[str, str] = {}
    place, is_ours = "", False
    own = _own_functions(assembly)
    for line in assembly.splitlines():
        function, call, loc = (words.match(line) for words in (_FUNCTION, _CALL, _LINE))
        files |= _file(line)
        place = f"{files[loc[1]]}:{loc[2]}" if loc else place
        if function:
            is_ours, found, places = function[1] in own, Counter(), set()
        if call and call[2] == _COUNTER:
            lines += _numbered(line, call, len(blocks))
            found, places = Counter(), set()
            blocks.append((found, places))
            continue
        if is_ours and _INSTRUCTION.match(line) and "/" not in place:
            places.add(place)
        if is_ours:
            found.update(_operations(line, call, own))
        lines.append(line)
    rows = (" ".join(map(str, (*_totals(found), *places))) for found, places in blocks)
    (folder / _TABLE).write_text("".join(f"{row}\n" for row in rows))
    return "".join(f"{line}\n" for line in lines)


def _numbered(line: str, call: re.Match[str], number: int) -> tuple[str, str]:
    """The call of a counter, which takes the number of its block."""
    argument = f"mov\tw0, #{number}" if call[1] == "bl" else f"movl\t${number}, %edi"
    return f"\t{argument}", line.replace(_COUNTER, "sim_count_block")


def _totals(found: Counter[str]) -> tuple[int, int]:
    """(operations, those on bits) of a basic block.

    A product and a sum are one operation, as a GPU's compiler fuses them.
    """
    fused = sum(min(found[f"{kind}multiply"], found[f"{kind}add"]) for kind in ("", "integer "))
    return sum(found.values()) - fused, found["bits"]


def _own_functions(assembly: str) -> set[str]:
    """The functions whose first line of text is not the simulator's."""
    files: dict[str, str] = {}
    found, function = set(), None
    for line in assembly.splitlines():
        label, place = _FUNCTION.match(line), _LINE.match(line)
        files |= _file(line)
        function = label[1] if label else function
        if place and function:
            is_shim = files.get(place[1], "").startswith(str(SHIM))
            if not (is_shim or _MEMORY.search(function)):
                found.add(function)
            function = None
    return found


def _file(line: str) -> dict[str, str]:
    """{its number: its name} if a line of assembly names a file."""
    file = _FILE.match(line)
    return {file[1]: "/".join(filter(None, file.groups()[1:]))} if file else {}


def _operations(line: str, call: re.Match[str] | None, own: set[str]) -> tuple[str, ...]:
    """The kinds of operations of one line of assembly: none or one."""
    if call:
        if call[2] in own or _MEMORY.search(call[2]):
            return ()
        return ("call",)
    instruction = _INSTRUCTION.match(line)
    if not instruction or _MOVE.match(instruction[1]) or _ADDRESS_OF_OWN.search(instruction[2]):
        return ()
    name, operands = instruction[1], instruction[2].split(",")
    if _ZEROS.match(name) and len({operand.strip() for operand in operands}) == 1:
        return ()
    return (next((kind for kind, names in _KINDS.items() if names.match(name)), "other"),)
