"""Compile a kernel's text so that it reports every load, store, basic block and meeting of lanes.

The compiler's thread sanitizer inserts a call before each load and store, and its coverage option
inserts one in each basic block; the runner defines the called functions. Between compiler and
assembler, this module edits the assembly: it labels each call, which tells its line, and puts free
bytes behind each shared array, so that an index just past the end hits no other array.
"""

import bisect
import re
from collections import Counter

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.machine import STATIC_SHARED_BYTES
from gemlite_edu.runners.simulator.program_order import JUMP, program_order
from gemlite_edu.runners.simulator.source_lines import lines_and_calls_of, run_tool
from gemlite_edu.runners.simulator.undefined_checks import without_checks
from gemlite_edu.runners.simulator.variables import demangled, variables_of

_SHARED_GAP = 1024
_FOR_DEBUGGERS = "\t.section\t.debug_info"  # begins the tables behind the code, most of the text
_CALL = re.compile(
    r"^\s+(?:callq?|bl)\s+(?:__tsan_((?:read|write)\w*)|__sanitizer_cov_trace_(pc)"
    r"|sim_(barrier|count_barrier|sync_warp|vote|exchange|gather|active_mask|atomic|trap|meet_to_load|meet_to_store|multiply|copy_async|close_batch"
    r"|wait_for_copies"
    r"|memmove|memset))\b.*$",
    re.MULTILINE,
)
_LIBRARY_CALL = re.compile(r"^(\s+(?:callq?|bl)\s+)(memcpy|memmove|memset)\b", re.MULTILINE)
_WATCHED = {"memcpy": "memmove", "memmove": "memmove", "memset": "memset"}
# The compiler puts no call into a loop of no instructions, which only the time limit ends.
_EMPTY_LOOP = re.compile(
    r"^((\.L\d+):\n(?:\t\.loc.*\n|\.L[VB]\w+:\n)*)(\t(?:jmp|b)\t\2)$", re.MULTILINE
)
_LABEL = re.compile(r"^(\.L\d+):", re.MULTILINE)
_SHARED_SECTION = re.compile(
    r"^\s+\.section\s+\.tbss.*?(?=^\s+\.(?:section|text|data|bss)\b)", re.MULTILINE | re.DOTALL
)
_ARRAY_END = re.compile(r"^\s+\.(?:zero|skip|space)\s+\d+.*$", re.MULTILINE)
_CONSTANTS = re.compile(r" sim_constant +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ")
_SITE = re.compile(r"([0-9a-f]+) .* sim_site_(\d+)_(\w+?)_(\d+)_(\d+)_(\d+)$", re.MULTILINE)
_BARRIERS = ("barrier", "count_barrier")  # told apart by all calls that lead to them
_DYNAMIC, _NOT_SHARED = 1, 2  # kinds of arrays besides static ones

# The flags optimize as for a plain run, except where that would change or merge accesses unlike a
# GPU's compiler, make conditional accesses unconditional, or reorder the blocks of a branch.
INSTRUMENTED_FLAGS = (
    "-g1 -gdwarf-4 -Wtype-limits -fno-var-tracking -fsanitize=thread -fsanitize-coverage=trace-pc "
    "-fno-omit-frame-pointer "  # a recorded step names the functions around it
    "--param=tsan-instrument-func-entry-exit=0 -fno-extern-tls-init "
    "-fsanitize=shift-exponent,signed-integer-overflow,float-cast-overflow,integer-divide-by-zero "
    "-fsanitize=bounds,object-size,unreachable,bool "
    "-fno-sanitize-recover=all -fsanitize-recover=bounds,object-size "
    "-fno-tree-loop-im -fno-tree-pre -fno-code-hoisting -fno-thread-jumps -fno-tree-tail-merge "
    "-fno-tree-vectorize -fno-tree-slp-vectorize "
    "-fno-ipa-reference-addressable "  # a variable that is only written stays
    "-fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset "
    "-fno-tree-loop-distribute-patterns -fno-store-merging -fno-optimize-sibling-calls "
    "-fno-partial-inlining -fno-crossjumping -fno-reorder-blocks -fno-reorder-blocks-and-partition "
    "--param=max-inline-insns-auto=10000 --param=early-inlining-insns=10000 "
    "--param=inline-unit-growth=10000 --param=large-function-growth=10000 "
    "--param=large-stack-frame-growth=10000"
).split()


def label_calls(assembly):
    """Add a label after each call of an instrument, and gaps behind shared arrays.

    A label is sim_site_NUMBER_WHAT_AFTER_NEXT_RANK. WHAT names the call: read4, barrier, ...; "pc"
    at the start of a basic block, or "lead" if the block starts with an access. AFTER is the number
    of the first call behind the innermost loop around this one, 0 if there is no loop. NEXT is, for
    a "lead", the number of the first call in the block that runs next, 0 if several blocks may.
    RANK is the position of the call in program order, see program_order.py.
    """
    assembly, *debugger = assembly.partition(_FOR_DEBUGGERS)
    assembly = _LIBRARY_CALL.sub(lambda call: f"{call[1]}sim_{_WATCHED[call[2]]}", assembly)
    assembly = _EMPTY_LOOP.sub(_with_call, assembly)
    calls = list(_CALL.finditer(assembly))
    ends = [call.end() for call in calls]
    flow = without_checks(assembly, [call.start() for call in calls])
    starts = {label[1]: label.start() for label in _LABEL.finditer(flow)}
    loops = list(_loops(flow, starts))
    ranks = program_order(flow, [call.start() for call in calls])
    parts, end = [], 0
    for number, call in enumerate(calls):
        what = call[1] or call[3] or ("lead" if _leads_to_access(flow, calls, number) else "pc")
        loop_end = min((e for start, e in loops if start < call.end() < e), default=None)
        after = 0 if loop_end is None else bisect.bisect(ends, loop_end)
        following = _next_block(flow, calls, number, ends, starts) if what == "lead" else 0
        label = f"sim_site_{number}_{what}_{after}_{following}_{ranks[number]}"
        parts += [assembly[end : call.end()], f"\n{label}:"]
        end = call.end()
    assembly = "".join([*parts, assembly[end:], *debugger])
    return _SHARED_SECTION.sub(_with_gaps, assembly)


def _with_call(loop):
    call = "bl" if loop[3].startswith("\tb\t") else "call"
    return f"{loop[1]}\t{call}\t__sanitizer_cov_trace_pc\n{loop[3]}"


def _loops(assembly, starts):
    """Yield (start, end) of the text between each label and a jump back to it."""
    for jump in JUMP.finditer(assembly):
        start = starts.get(jump[2], jump.end())
        if start < jump.start():
            yield start, jump.end()


def _next_block(assembly, calls, number, ends, starts):
    """The first call of the block that must follow that of call `number`; 0 if several may."""
    later = next((n for n in range(number + 1, len(calls)) if calls[n][2]), None)
    end_of_block = calls[later].start() if later else len(assembly)
    jump = JUMP.search(assembly, calls[number].end(), end_of_block)
    if not jump:
        return later or 0
    is_unconditional = jump[1] in ("jmp", "b")
    if not (is_unconditional and jump[2] in starts):
        return 0
    number = bisect.bisect(ends, starts[jump[2]])
    return number if number < len(calls) else 0


def _leads_to_access(assembly, calls, number):
    if number + 1 == len(calls) or not calls[number + 1][1]:
        return False
    between = assembly[calls[number].end() : calls[number + 1].start()]
    return not (_LABEL.search(between) or JUMP.search(between))


def _with_gaps(section):
    gap = f"\n\t.zero\t{_SHARED_GAP}"
    head, newline, body = section[0].partition("\n")
    return head + gap + newline + _ARRAY_END.sub(lambda array: array[0] + gap, body)


def write_sites(library, dynamic_name, shim):
    """Write files beside `library`: sites.txt for the runner, lines.txt, arrays.txt for the report.

    arrays.txt has the names of the shared arrays and, behind them, of the variables.

    dynamic_name: the extern __shared__ array, or None. shim: the shim's folder, whose lines are
    never reported.
    """
    symbols = run_tool("readelf", "--symbols", "--sections", "--wide", library)
    found = {
        int(s[2]): (int(s[1], 16), s[3], *map(int, s.groups()[3:])) for s in _SITE.finditer(symbols)
    }
    addresses = {number: site[0] for number, site in found.items()} | {0: 0}
    sites = sorted(found.values())
    lines, calls = lines_and_calls_of(library, [address for address, *_ in sites], shim)
    places = [
        call if what in _BARRIERS else line
        for line, call, (_, what, *_) in zip(lines, calls, sites, strict=True)
    ]
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    arrays = _shared_arrays(symbols, dynamic_name)
    rows = [
        f"site {address:x} {numbers[place]} {int(what == 'lead')} "
        f"{addresses.get(after, 0):x} {addresses.get(following, 0):x} {rank}"
        for (address, what, after, following, rank), place in zip(sites, places, strict=True)
    ]
    _check_static_size(arrays)
    rows += [f"array {at} {size} {kind}" for at, size, kind, _ in arrays]
    variables = variables_of(symbols)
    rows += [f"variable {at} {size}" for at, size, _ in variables]
    rows += [f"constant {at} {size}" for at, size in _CONSTANTS.findall(symbols)]
    (library.parent / "sites.txt").write_text("\n".join(rows) + "\n")
    (library.parent / "lines.txt").write_text("".join(f"{line}\n" for line in lines))
    names = [name for *_, name in (*arrays, *variables)]
    (library.parent / "arrays.txt").write_text("".join(f"{name}\n" for name in names))
    return _bytes_read(lines, sites)


def _bytes_read(lines, sites):
    """{line: bytes that its loads read, counting each load once}"""
    found = Counter()
    for line, (_, what, *_) in zip(lines, sites, strict=True):
        width = re.fullmatch(r"read(\d+)", what)
        found[line] += int(width[1]) if width else 0
    return found


def _shared_arrays(symbols, dynamic_name):
    """(offset, bytes, kind, name) of each thread_local variable, by offset."""
    found = re.findall(r"([0-9a-f]+)\s+(\d+|0x[0-9a-f]+)\s+TLS\s.* (\S+)$", symbols, re.MULTILINE)
    found = sorted(set(found))
    names = demangled([name for _, _, name in found])
    return sorted(
        (int(value, 16), int(size, 0), _kind(name, dynamic_name), name.rpartition("::")[2])
        for (value, size, _), name in zip(found, names, strict=True)
        if int(size, 0)
    )


def _check_static_size(arrays):
    asked = sum(size for _, size, kind, _ in arrays if kind == 0)
    if asked > STATIC_SHARED_BYTES:
        raise KernelTextError(
            f"the __shared__ arrays take {asked} bytes, and a block may declare "
            f"{STATIC_SHARED_BYTES}: make them smaller"
        )


def _kind(name, dynamic_name):
    if name == dynamic_name:
        return _DYNAMIC
    # Variables of the compiler and of bindings.h that record an initialization.
    is_note = name.startswith("guard variable") or name in ("__tls_guard", "sim_touched")
    return _NOT_SHARED if is_note else 0
