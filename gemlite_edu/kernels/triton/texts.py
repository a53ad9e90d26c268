"""Read the kernels' texts as they ship."""

import ast

from gemlite_edu.kernels.triton import FOLDER


def text_of(name: str, function: str | None = None) -> str:
    """The text of the file `name`.py, or of one of its functions with its decorator.

    >>> text_of("dequantize", "unpack").splitlines()[1]
    'def unpack(words, field: tl.constexpr, NBITS: tl.constexpr):'
    """
    path = FOLDER / f"{name}.py"
    if not path.exists():
        names = ", ".join(sorted(path.stem for path in FOLDER.glob("[!_]*.py")))
        raise ValueError(f"there is no file {name!r}; there are {names}")
    text = path.read_text(encoding="utf-8")
    if function is None:
        return text
    found = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    if function not in found:
        raise ValueError(f"{name} has no function {function!r}; it has {', '.join(found)}")
    node = found[function]
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"
