"""Precompile the header that starts every kernel's text, so that it is parsed only once.

It holds the templates that are instantiated by its end; g++ instantiates the others again with each
kernel. A function that returns `auto` is instantiated at its first call: the shim's templates that
other functions of the shim call return it for that reason.
"""

import subprocess

from gemlite_edu.runners.build_cache import cached_build, program_identity
from gemlite_edu.runners.simulator.fills import is_fill
from gemlite_edu.runners.simulator.whole_program import WHOLE_PROGRAM

_HEADER = "cuda_runtime.h"


def header_to_include(compiler, flags, shim, hash_of_shim):
    """Path of a header that includes the shim's; its precompiled form lies beside it for g++.

    flags: those of the compiles that will include it. If g++ cannot use the precompiled form, for
    example because a flag defines a macro that the shim mentions, it reads the text instead.
    """
    flags = [flag for flag in flags if not _matters_to_no_header(flag)]

    def build(folder):
        header = folder / _HEADER
        header.write_text(f'#include "{shim / _HEADER}"\n')
        command = [compiler, *flags, "-x", "c++-header", header, "-o", f"{header}.gch"]
        subprocess.run([str(word) for word in command], capture_output=True)

    key = ("header", str(shim), hash_of_shim, *flags, program_identity(compiler))
    return cached_build(key, build) / _HEADER


def _matters_to_no_header(flag):
    """True for a kernel's own macros and fills, and for the linker's flags, which make g++ link."""
    is_macro_of_kernel = flag.startswith("-D") and not flag.startswith("-DSIM_")
    is_of_kernel = is_macro_of_kernel or is_fill(flag) or flag == WHOLE_PROGRAM
    return is_of_kernel or flag.startswith("-Wl,")
