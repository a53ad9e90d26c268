"""Show a kernel's text in a notebook, from the file that runs."""

from gemlite_edu.kernels import sources


def read(name, hole=None):
    """Show a file of `kernels/cuda/`, such as "gemv.cuh" or a kernel's, or one hole of a kernel.

    read("gemv_a16wn_fp32", hole="dequant_dot") shows the function as it ships. The line numbers are
    the file's, which reports and messages use too; they are comments, so that a copy of the text
    still compiles.
    """
    from IPython.display import Markdown, display

    if hole is None:
        text, first_line = sources.read(name), 1
    else:
        text, (_, first_line) = sources.hole(hole, name), sources.place_of_hole(hole, name)
    display(Markdown(f"```c++\n{_numbered(text, first_line)}\n```"))


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
