"""Compile a kernel's text, and the runner, with the host's C++ compiler."""

import hashlib
import json
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from gemlite_edu.kernels.compiler_errors import explain_compiler_error
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners.build_cache import cached_build, program_identity
from gemlite_edu.runners.limited import run_limited, why_stopped
from gemlite_edu.runners.simulator.compilers import (
    find_compiler,
    find_instrumenting_compiler,
    is_clang,
)
from gemlite_edu.runners.simulator.dynamic_arrays import define_dynamic_arrays, dynamic_arrays
from gemlite_edu.runners.simulator.endless_loops import keep_conditions
from gemlite_edu.runners.simulator.fills import (
    flag_to_list,
    flags_to_fill,
    keep_list,
    with_other_fill,
)
from gemlite_edu.runners.simulator.instrument import INSTRUMENTED_FLAGS, label_calls, write_sites
from gemlite_edu.runners.simulator.kept_loads import KEEPING_FLAGS, flags_to_keep_loads
from gemlite_edu.runners.simulator.precompiled import header_to_include
from gemlite_edu.runners.simulator.variables import check_initialisers
from gemlite_edu.runners.simulator.whole_program import whole_program

_HERE = Path(__file__).parent
SHIM = _HERE / "shim"
_KERNEL_FLAGS = (
    "-std=c++17 -O2 -fPIC -Wno-unknown-pragmas -Werror=return-type -Werror=uninitialized "
    "-Werror=vla -Werror=sequence-point -Werror=return-local-addr -fno-exceptions "
    "-fno-finite-loops -fno-strict-aliasing -fno-semantic-interposition -ffp-contract=off "
    "-fno-builtin-malloc -fno-builtin-free -fcheck-new"
).split()
if platform.machine() in ("x86_64", "AMD64"):
    _KERNEL_FLAGS.append("-mlong-double-64")  # as nvcc has it
# The runner that loads this library already has the C and C++ libraries.
_LIBRARY_FLAGS = "-shared -nodefaultlibs -lgcc".split()
# A kernel that calls one of these gets the runner's: the device heap's malloc, free, new, new[],
# delete, delete[] (sized too), the clock, and printf.
_FROM_RUNNER = "malloc free _Znwm _Znam _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm clock printf".split()
_LIBRARY_FLAGS += [f"-Wl,--wrap={name}" for name in _FROM_RUNNER]
_RUNNER_FLAGS = "-std=c++17 -O2 -pthread -rdynamic -U_FORTIFY_SOURCE".split()
_RUNNER_LIBRARIES = "-ldl -lrt".split()
# They stay near the text, so that no access of it gets lost. The runner knows the offset.
_GUARDING_FLAGS = (
    "-O1 -g1 -gdwarf-4 -w -fno-aggressive-loop-optimizations -fstack-reuse=none "
    "-fsanitize=kernel-address -fasan-shadow-offset=0x7fff8000 --param=asan-stack=1 "
    "-fno-sanitize-address-use-after-scope "
    "--param=asan-globals=0 --param=asan-use-after-return=0 "
    "--param=asan-instrumentation-with-call-threshold=0 "
    "-fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset "
    "-Wl,--wrap=memcpy -Wl,--wrap=memmove -Wl,--wrap=memset"
).split()
_VECTOR_TYPE = re.compile(r"\b(?:u?(?:char|short|int|long|longlong)|float|double)[24]\b")
# What `__constant__` says already, and C++ takes only once.
_AROUND_CONSTANT = re.compile(
    r"(?:\b(?:const|static)\s+)*\b__constant__\b(?:\s+(?:const|static)\b)*"
)
_QUALIFIER = re.compile(r"\b(?:const|static)\b")


def build_kernel(
    text: str, entry: str, defines: Mapping[str, object], replace: dict[str, str] | None = None
) -> Path:
    """Compile the kernel function `entry` in `text`; returns the path of the shared library.

    defines: {macro: value}. replace: the learner's texts in `text`, quoted in compile errors.
    Raises KernelTextError if the text does not compile.
    """
    text, flags = _prepare(text, entry, defines)
    return _plain_library(text, flags + whole_program(replace), find_compiler(), replace)


def _plain_library(text, flags, compiler, replace=None):
    def build(folder: Path) -> None:
        command = _compile_command(compiler, flags, folder, text)
        _compile_kernel([*command, "-o", folder / "kernel.so", *_LIBRARY_FLAGS], replace)

    key = ("simulated kernel", text, *flags, *_of_every_kernel(compiler))
    return cached_build(key, build) / "kernel.so"


def build_instrumented_kernel(
    text: str, entry: str, defines: Mapping[str, object], replace: dict[str, str] | None = None
) -> Path:
    """Like `build_kernel`, for `inspect_kernel`; also writes the lines of the kernel's accesses."""
    text, flags = _prepare(text, entry, defines)
    flags += [*whole_program(replace), *INSTRUMENTED_FLAGS, *flags_to_keep_loads()]
    flags += flags_to_fill(find_instrumenting_compiler())
    return _instrumented_library(text, flags, replace)


def build_changed(
    text: str,
    entry: str,
    defines: Mapping[str, object],
    flags: Sequence[str],
    change: Callable[[str, Path], str],
) -> Path:
    """Like `build_kernel`, with further flags, and with its assembly changed on the way.

    change: a function of (the assembly, the build's folder) that returns the changed assembly; the
    flags say all that it depends on.
    """
    text, own = _prepare(text, entry, defines)
    compiler = find_instrumenting_compiler()

    def build(folder: Path) -> None:
        assembly, library = folder / "kernel.s", folder / "kernel.so"
        command = _compile_command(compiler, [*own, *flags], folder, text)
        _compile_kernel([*command, "-S", "-o", assembly], None)
        assembly.write_text(change(assembly.read_text(), folder))
        _compile_kernel([compiler, assembly, "-o", library, *_LIBRARY_FLAGS], None)

    key = ("changed kernel", text, *own, *flags, *_of_every_kernel(compiler))
    return cached_build(key, build) / "kernel.so"


def build_with_other_fill(library):
    """The library of the same kernel whose local variables have other first values.

    library: from `build_instrumented_kernel`.
    """
    text, flags = _text_and_flags(library)
    return _instrumented_library(text, with_other_fill(flags))


def build_with_guarded_locals(library):
    """The library of the same kernel that tells the runner of each access to a lane's own stack.

    library: from `build_instrumented_kernel`. Run the result with the word "locals" for its sites.
    """
    text, flags = _text_and_flags(library)
    own = [flag for flag in flags if flag not in (*INSTRUMENTED_FLAGS, *KEEPING_FLAGS)]
    return _plain_library(text, [*own, *_GUARDING_FLAGS], find_instrumenting_compiler())


def _text_and_flags(library):
    text = (library.parent / "kernel.cpp").read_text(encoding="utf-8")
    return text, json.loads((library.parent / "flags.json").read_text())


def _instrumented_library(text, flags, replace=None):
    dynamic_name = next(iter(dynamic_arrays(text)), None)
    compiler = find_instrumenting_compiler()

    def build(folder: Path) -> None:
        command = [*_compile_command(compiler, flags, folder, text), flag_to_list(folder)]
        reads = _build_instrumented(command, folder, dynamic_name, replace)
        keep_list(folder, flags)
        (folder / "reads.json").write_text(json.dumps(reads))
        (folder / "flags.json").write_text(json.dumps(flags))

    return cached_build(_instrumented_key(text, flags, compiler), build) / "kernel.so"


def partly_used_vectors(library):
    """A function that finds, by a second compile, the lines that use only parts of a loaded vector.

    library: from `build_instrumented_kernel`. Its files are read now, because they may be gone when
    the function is called.
    """
    text, flags = _text_and_flags(library)
    reads = json.loads((library.parent / "reads.json").read_text())
    if not _VECTOR_TYPE.search(text):
        return lambda: []
    return lambda: _find_partly_used(text, [*flags, "-DSIM_SPLIT_VECTORS"], reads)


def _find_partly_used(text, flags, reads):
    dynamic_name = next(iter(dynamic_arrays(text)), None)
    compiler = find_instrumenting_compiler()

    def build(folder: Path) -> None:
        command = _compile_command(compiler, flags, folder, text)
        split_reads = _build_instrumented(command, folder, dynamic_name, replace=None)
        partly = sorted(line for line in reads if split_reads[line] < reads[line])
        (folder / "partly_used.txt").write_text("".join(f"{line}\n" for line in partly))

    folder = cached_build(_instrumented_key(text, flags, compiler), build)
    return (folder / "partly_used.txt").read_text().splitlines()


def _instrumented_key(text, flags, compiler):
    key = ("instrumented kernel", text, *flags, *_of_every_kernel(compiler))
    return *key, _hash_of_instrumenting()


def _build_instrumented(command, folder, dynamic_name, replace):
    assembly, library = folder / "kernel.s", folder / "kernel.so"
    keep_conditions(folder, _compile_kernel([*command, "-S", "-o", assembly], replace))
    check_initialisers(assembly.read_text(), SHIM)
    assembly.write_text(label_calls(assembly.read_text()))
    _compile_kernel([command[0], assembly, "-o", library, *_LIBRARY_FLAGS], replace)
    return write_sites(library, dynamic_name, SHIM)


def _prepare(text, entry, defines):
    text = _AROUND_CONSTANT.sub(lambda found: _QUALIFIER.sub(_blank, found[0]), text)
    text = f"{text}{define_dynamic_arrays(text)}\n#include <bindings.h>\n"
    flags = [*_KERNEL_FLAGS, f"-I{_HERE / 'shim'}", f"-DKERNEL={entry}"]
    return text, flags + [f"-D{name}={value}" for name, value in defines.items()]


def _blank(found):
    return " " * len(found[0])


def _of_every_kernel(compiler):
    """The part of a library's cache key that all kernels share, besides the text and the flags."""
    return *_LIBRARY_FLAGS, _hash_of_shim(), program_identity(compiler)


def _compile_command(compiler, flags, folder, text):
    """Write the text into the folder; returns the command that compiles it, without an output."""
    source = folder / "kernel.cpp"
    source.write_text(text, encoding="utf-8", errors="replace")
    header = SHIM / "cuda_runtime.h"
    if not is_clang(compiler):  # clang refuses the precompiled header instead of reading the text
        header = header_to_include(compiler, flags, SHIM, _hash_of_shim())
    return [compiler, *flags, "-include", header, source]


def _compile_kernel(command, replace):
    status, said = run_limited(command)
    stopped = why_stopped(status, said)
    if stopped:
        raise KernelTextError(stopped)
    if status:
        kernel = [Path(word).read_text() for word in command if str(word).endswith("/kernel.cpp")]
        raise explain_compiler_error(said, replace, "".join(kernel))
    return said


def build_runner():
    """Compile the runner program, unless cached; returns its path."""
    compiler = find_compiler()
    source = _HERE / "runner" / "runner.cpp"

    def build(folder: Path) -> None:
        program = ["-o", str(folder / "runner"), *_RUNNER_LIBRARIES]
        command = [compiler, *_RUNNER_FLAGS, str(source), *program]
        status, said = run_limited(command)
        if status:
            raise RuntimeError(f"{compiler} could not compile the simulator:\n{said}")

    key = ("runner", _hash_of_runner(), _hash_of_shim(), *_RUNNER_FLAGS, program_identity(compiler))
    return cached_build(key, build) / "runner"


@cache
def _hash_of_shim():
    return _hash(sorted(SHIM.rglob("*.h")))


@cache
def _hash_of_runner():
    folders = (_HERE / "runner", _HERE / "instruments")
    return _hash(path for folder in folders for path in sorted(folder.glob("*.[hc]*")))


@cache
def _hash_of_instrumenting():
    names = (
        "instrument.py",
        "endless_loops.py",
        "fills.py",
        "program_order.py",
        "source_lines.py",
        "undefined_checks.py",
        "variables.py",
    )
    return _hash(_HERE / name for name in names)


def _hash(paths):
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
