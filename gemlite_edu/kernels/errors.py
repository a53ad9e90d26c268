"""The errors that a kernel's text can cause; a notebook shows only their message."""


class OneSentence:
    """A base class for errors that a notebook shows without a traceback."""

    def _render_traceback_(self) -> list[str]:
        """IPython calls this method instead of printing a traceback."""
        return [f"{type(self).__name__}: {self}"]


class KernelTextError(OneSentence, ValueError):
    """The text of a kernel, or the text that replaces a hole in it, does not compile."""


class KernelFault(OneSentence, RuntimeError):
    """A running kernel accessed memory outside its tensors, got stuck, or did not end in time."""


class UntrustedText(OneSentence, ValueError):
    """A saved module has CUDA texts, which would be compiled and run without the caller's consent.

    texts: {hole: text}, for a folder with a model a list of these; read before you trust.
    """

    def __init__(self, message: str, texts: dict[str, str] | list[dict[str, str]]) -> None:
        super().__init__(message)
        self.texts = texts
