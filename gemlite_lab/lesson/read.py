"""Show a kernel's text in a notebook, from the file that runs."""

from gemlite_edu.kernels import sources


def read(name, hole=None):
    """Show a file of `kernels/cuda/`, such as "gemv.cuh" or a kernel's, or one hole of a kernel.

    read("gemv_a16wn_fp32", hole="dequant_dot") shows the function as it ships.
    """
    from IPython.display import Markdown, display

    text = sources.read(name) if hole is None else sources.hole(hole, name)
    display(Markdown(f"```c++\n{text.strip()}\n```"))
