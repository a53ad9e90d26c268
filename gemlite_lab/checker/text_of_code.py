"""The text of a Python function, for rules on what a learner has written."""

import inspect
import linecache


def text_of_code(code):
    """What `inspect.getsource` gives for a function's `__code__`, found by its file alone.

    inspect looks in every module that is imported for the one to which the file belongs; of such
    modules there are thousands, and a notebook's cell is in none. Raises OSError if Python does not
    know the text.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    if not lines:
        raise OSError(f"nothing is known of {code.co_filename}")
    return "".join(inspect.getblock(lines))
