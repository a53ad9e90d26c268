"""`Written`: a learner's function as a text that only the process of the answer ever runs.

`check` gets a function that a notebook has made by running its cell. Who judges a submission runs
no cell of it: the text goes into the answer's process, which is confined before it reads it.
"""

import ast
from functools import lru_cache


class Written:
    """Stands for the function `name` that `text` defines, and becomes it where it is unpickled.

    where: the name of the text, under which linecache knows its lines. given: {name: value} that
    the text may use and the process could not import.
    Python can pickle it and look up its text, as it can with the function; nothing calls it here.
    """

    __module__ = None  # of no module: an answer from this package would be refused

    def __init__(self, text, name, where, given):
        self._text, self._where, self._given = text, where, given
        self.__name__ = name
        code = code_of(text, name, where)
        if code is not None:
            self.__code__, self.__globals__ = code, {}

    def __call__(self, *arguments):
        raise TypeError(f"{self.__name__} is a text: only its own process makes a function of it")

    def __reduce__(self):
        return value_of, (self._text, self.__name__, self._where, self._given)


def value_of(text, name, where, given=None):
    """Run the statements of `text`, and return what it calls `name`. given: as in `Written`.

    A statement that fails is left out: a learner's cell may use what is not here. NameError, with
    the first error, if the name is not there afterwards.
    """
    names, first_error = {"__name__": "__main__", **(given or {})}, ""
    for statement in ast.parse(text).body:
        try:
            exec(compile(ast.Module([statement], []), where, "exec"), names)
        except Exception as error:
            first_error = first_error or f": {type(error).__name__}, {error}"
    if name not in names:
        raise NameError(f"{name} is not defined{first_error}")
    return names[name]


def cached(function, maxsize, typed):
    """The function with an empty functools.lru_cache of its own."""
    return lru_cache(maxsize, typed)(function)


def code_of(text, name, where):
    """The code of the last function `name` at the top of the text; None if there is none."""
    constants = compile(text, where, "exec").co_consts
    codes = [each for each in constants if getattr(each, "co_name", None) == name]
    return codes[-1] if codes else None
