"""Show a kernel's text in a notebook, from the file that runs."""

from gemlite_edu.kernels import sources


def read(name, hole=None, between=None):
    """Show a file of `kernels/cuda/`, such as "gemv.cuh" or a kernel's, or one part of it.

    read("gemv_a16wn_fp32", hole="dequant_dot") shows the function as it ships. between: two texts;
    shows the lines from the one with the first text to the next one with the second. The line
    numbers are the file's, which reports and messages use too; they are comments, so that a copy of
    the text still compiles. ValueError for a hole or a text that is not there.
    """
    from IPython.display import Markdown, display

    if hole is not None:
        text, (_, first_line) = sources.hole(hole, name), sources.place_of_hole(hole, name)
    elif between is not None:
        text, first_line = _between(name, *between)
    else:
        text, first_line = sources.read(name), 1
    display(Markdown(f"```c++\n{_numbered(text, first_line)}\n```"))


def _between(name, first, last):
    """The lines of a file from `first` to `last`, and the number of the first of them."""
    lines = sources.read(name).splitlines()
    found = [at for at, line in enumerate(lines) if first in line]
    if len(found) != 1:
        raise ValueError(f"{name} must have one line with {first!r}, got {len(found)}")
    start = found[0]
    end = next((at for at, line in enumerate(lines[start:], start) if last in line), None)
    if end is None:
        raise ValueError(f"{name} has no line with {last!r} after the one with {first!r}")
    return "\n".join(lines[start : end + 1]), start + 1


def _numbered(text, first_line):
    """
    >>> print(_numbered("int a;\\n\\nint b;", 9))
    /*  9 */ int a;
    /* 10 */
    /* 11 */ int b;
    """
    lines = list(enumerate(text.rstrip().splitlines(), first_line))
    width = len(str(lines[-1][0]))
    return "\n".join(f"/* {number:{width}} */ {line}".rstrip() for number, line in lines)
