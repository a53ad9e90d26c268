"""What goes between the checker and the sandbox.

The checker sends objects, pickled. The sandbox may hold a hostile program, so it answers with
tensors, numbers, texts, lists, tuples and dicts alone: reading them runs none of its code.
"""

import io
import numbers
import struct

import torch

_LENGTH = struct.Struct("<Q")
LARGEST = 1 << 30  # bytes of one message


class Foreign:
    """Stands for a value that is neither a tensor nor a number, a text or a collection of them."""


def send(connection, content):
    """Send bytes, with their length ahead."""
    connection.sendall(_LENGTH.pack(len(content)))
    connection.sendall(content)


def receive(connection):
    """The next bytes that were sent; None if the other side has gone."""
    head = _read(connection, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    return None if length > LARGEST else _read(connection, length)


def _read(connection, count):
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def packed(value):
    """The bytes of a `plain` value."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def unpacked(content):
    """The value of `packed`, with a `Foreign` object for each value of another kind.

    Raises an exception for bytes that are no such value; it never runs code from them.
    """
    return _restored(torch.load(io.BytesIO(content), weights_only=True))


def plain(value):
    """A copy of `value` that `packed` takes: what it does not take is named by its type.

    Of a named tuple, an ordered dict and the like it takes what they hold.
    """
    kind = type(value)
    if kind in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided:
        return value.detach().cpu().clone(memory_format=torch.contiguous_format)
    if value is None or kind in (bool, str):
        return value
    for collection in (list, tuple):
        if isinstance(value, collection):
            return collection(map(plain, collection.__iter__(value)))
    if isinstance(value, dict):
        return {_key(name): plain(item) for name, item in dict.items(value)}
    number = _number(value)
    return number if number is not None else {_FOREIGN: _name_of(value)}


_FOREIGN = "\0"  # the key of a dict that stands for a `Foreign`


def _name_of(value):
    is_sparse = isinstance(value, torch.Tensor) and value.layout != torch.strided
    return f"sparse {type(value).__name__}" if is_sparse else type(value).__name__


def _key(name):
    if type(name) is tuple:
        return tuple(map(_key, name))
    return name if type(name) in (str, int, float, bool, type(None)) else repr(type(name))


def _number(value):
    """value as an int or a float; None if it is no real number."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if type(value) is int and abs(value) < 2**63:
        return value
    is_number = isinstance(value, numbers.Real) or type(value).__module__ in ("decimal", "sympy")
    if not is_number or isinstance(value, bool):
        return None
    try:
        return float(value)
    except Exception:
        return None


def _restored(value):
    if type(value) is dict:
        if list(value) == [_FOREIGN]:
            return type(str(value[_FOREIGN]), (Foreign,), {})()
        return {name: _restored(item) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_restored, value))
    is_plain = value is None or type(value) in (bool, int, float, str, torch.Tensor)
    return value if is_plain else Foreign()
