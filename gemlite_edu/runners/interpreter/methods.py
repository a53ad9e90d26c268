"""Methods of tensors, such as `x.sum(axis)`, that stand for functions of triton.language.

The interpreter replaces those that triton marks as builtin. It would compile the others, which
needs a GPU.
"""


def methods(language):
    """{name: the method}, each of which calls the function of that name in triton.language."""
    members = vars(language.tensor).items()
    others = [name for name, member in members if not language.core.is_builtin(member)]
    return {name: _calling(language, name) for name in others if name in language.__all__}


def _calling(language, name):
    def method(tensor, *arguments, **named):
        return getattr(language, name)(tensor, *arguments, **named)

    return method
