"""Show a Triton kernel's text in a notebook, from the file that runs."""

from gemlite_edu.kernels.triton.texts import text_of


def read_triton(name, function=None):
    """Show the file `name`.py of `kernels/triton/`, or one function of it, as it ships.

    read_triton("dequantize", "unpack") shows the function with its decorator. The line numbers are
    the file's; they are comments, so that a copy of the text still runs.
    """
    from IPython.display import Markdown, display

    text = text_of(name, function)
    lines_before = text_of(name).partition(text)[0].count("\n")
    display(Markdown(f"```python\n{_numbered(text, lines_before + 1)}\n```"))


def _numbered(text, first_line):
    """
    >>> print(_numbered("a = 1\\n\\nb = 22", 9))
    a = 1   #  9
    <BLANKLINE>
    b = 22  # 11
    """
    lines = text.rstrip().splitlines()
    width = max(map(len, lines))
    digits = len(str(first_line + len(lines) - 1))
    numbered = enumerate(lines, first_line)
    return "\n".join(line and f"{line:{width}}  # {number:{digits}}" for number, line in numbered)
