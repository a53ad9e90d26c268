"""The errors that a kernel's text can cause; a notebook shows their sentence alone."""


class OneSentence:
    """A notebook shows the message of such an error without a traceback."""

    def _render_traceback_(self):
        """IPython calls this in place of printing a traceback."""
        return [f"{type(self).__name__}: {self}"]


class KernelTextError(OneSentence, ValueError):
    """The text of a kernel, or of what replaces a hole in it, does not compile."""


class KernelFault(OneSentence, RuntimeError):
    """A running kernel left its tensors, got stuck, or never ended."""


class UntrustedText(OneSentence, ValueError):
    """A saved module has CUDA text, which would be compiled and run, and nobody allowed that.

    texts: {hole: text}, to be read before they are trusted.
    """

    def __init__(self, message, texts):
        super().__init__(message)
        self.texts = texts
