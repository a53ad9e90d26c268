"""Many builds of kernels as one text, for which nvcc reads the headers of CUDA only once.

For a small kernel those headers take most of nvcc's time.
"""

import re

_HEADER = re.compile(r"^#include (<.*>)", re.MULTILINE)
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)


def in_one_text(builds):
    """The text of {namespace: (text, {macro: value})}: each build in a namespace of its own."""
    headers = sorted({header for text, _ in builds.values() for header in _HEADER.findall(text)})
    pieces = [_include(header) for header in headers]
    pieces += [_in_namespace(name, *build) for name, build in builds.items()]
    return "\n".join(pieces)


def _include(header):
    """Include a header before all namespaces; nvcc does not have the simulator's headers."""
    return f"#if __has_include({header})\n#include {header}\n#endif"


def _in_namespace(name, text, defines):
    before = [f"#define {macro} {value}" for macro, value in defines.items()]
    after = [f"#undef {macro}" for macro in dict.fromkeys([*defines, *_MACRO.findall(text)])]
    return "\n".join([*before, f"namespace {name} {{", text, "}", *after])
