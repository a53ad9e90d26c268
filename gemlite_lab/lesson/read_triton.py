"""Show a Triton kernel's text in a notebook, from the file that runs."""

from gemlite_edu.kernels.triton.texts import text_of


def read_triton(name, function=None):
    """Show the file `name`.py of `kernels/triton/`, or one function of it, as it ships.

    read_triton("dequantize", "unpack") shows the function with its decorator.
    """
    from IPython.display import Markdown, display

    display(Markdown(f"```python\n{text_of(name, function).strip()}\n```"))
