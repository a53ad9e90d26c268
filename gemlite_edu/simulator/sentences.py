"""What the runner reports, in one sentence for a person."""

import re

_WILD = "reached memory that is neither a tensor's nor shared: look at its pointers and indices"
_SIGNALS = {
    4: "undefined behaviour, such as a division by zero",
    6: "an abort",
    8: "an integer division by zero",
}


def too_long(time_limit):
    """Of a kernel that was stopped."""
    return (
        f"the kernel did not end within {time_limit:g} s and was stopped: look for a loop "
        "whose condition never becomes false; load(..., time_limit=...) sets the limit"
    )


def fault_sentence(status, tensors, time_limit):
    """Of the line with which the runner ended, if that is not "done".

    tensors: {name: torch.Tensor} of the arguments.
    """
    word, *fields = status.split(" ")
    if word == "endless":
        return f"{_where(*fields)}: {too_long(time_limit)}" if fields else too_long(time_limit)
    if word in ("outside", "reads", "writes", "readonly"):
        return _memory_sentence(word, fields, tensors)
    if word == "signal":
        number, address, block_x, block_y, thread = fields
        wild = "reached a null pointer" if address == "(nil)" else _WILD
        return f"{_where(block_x, block_y, thread)}: {_SIGNALS.get(int(number), wild)}"
    if word == "shared":
        offset, asked, block_x, block_y, _ = fields
        return (
            f"block ({block_x}, {block_y}) wrote byte {offset} of its dynamic shared memory, "
            f"of which the launch asked for {asked}"
        )
    if word == "misaligned":
        return f"{_where(*fields)} reaches 16 bytes at an address that is no multiple of 16"
    if word == "stack":
        return (
            f"{_where(*fields[2:])} used more than {fields[0]} KiB of local memory: "
            "a very large local array, or a recursion that does not end"
        )
    if word == "stuck":
        where, missing, block_x, block_y, thread = fields
        warp, lane = divmod(int(thread), 32)
        absent = lanes_in(int(missing, 16))
        if where == "ended":
            return (
                f"block ({block_x}, {block_y}), warp {warp}: lane {lane} shuffles with a mask that "
                f"names {absent}, which returned without it; is the shuffle inside an if?"
            )
        never = "never makes" if absent.startswith("lane ") else "never make"
        return (
            f"block ({block_x}, {block_y}), warp {warp}: lane {lane} waits for ever at a shuffle, "
            f"vote or __syncwarp that {absent} {never}; is it inside an if?"
        )
    if word == "notinmask":
        mask, lane, block_x, block_y, thread = fields
        return (
            f"{_where(block_x, block_y, thread)} is lane {lane} of its warp and takes part in a "
            f"warp operation whose mask 0x{mask} does not name it"
        )
    return f"the simulator failed: {status}"


def _memory_sentence(word, fields, tensors):
    name, offset, block_x, block_y, thread = fields
    tensor = tensors[name]
    element = int(offset) // tensor.element_size()
    count = tensor.numel()
    if int(thread) < 0:
        return f"the kernel wrote {name}[{element}], outside {name}, which has {count} elements"
    if word == "readonly":
        return f"{_where(block_x, block_y, thread)} wrote {name}[{element}], but {name} is an input"
    verb = "reached" if word == "outside" else word
    return (
        f"{_where(block_x, block_y, thread)} {verb} {name}[{element}], "
        f"outside {name}, which has {count} elements"
    )


def _where(block_x, block_y, thread):
    return f"block ({block_x}, {block_y}), thread {thread}"


def lanes_in(mask):
    """In words, the lanes whose bits are set.

    >>> lanes_in(0b1110001), lanes_in(8)
    ('lanes 0, 4-6', 'lane 3')
    """
    ranges = [(run.start(), run.end() - 1) for run in re.finditer("1+", f"{mask:b}"[::-1])]
    words = [f"{a}" if a == b else f"{a}-{b}" for a, b in ranges]
    return ("lanes " if mask & (mask - 1) else "lane ") + ", ".join(words)


def finding_sentence(kind, text, number, place, other_place, block, count, details):
    """Of one finding of the instruments; `text` names what they number."""
    thread, other_thread, writes, other_writes, offset, size, more = details
    name = text.name(number) if number >= 0 else ""
    tensor = text.tensors.get(name) if number < len(text.tensors) else None
    element_bytes = tensor.element_size() if tensor is not None else size
    element = f"{name}[{offset // max(element_bytes, 1)}]"
    grid_x = text.launch.grid[0]
    who = _where(block % grid_x, block // grid_x, thread)
    verb = "writes" if writes else "reads"
    if kind == "outside" and tensor is None and size not in (1, 2, 4, 8, 16):
        return (
            f"{who} {verb} {size} bytes at byte {offset} of {name}, "
            f"which has {text.bytes_of(number)} bytes"
        )
    if kind == "outside":
        bytes_there = tensor.nbytes if tensor is not None else text.bytes_of(number)
        return (
            f"{who} {verb} {element}, outside {name}, "
            f"which has {bytes_there // element_bytes} elements of {element_bytes} bytes"
        )
    if kind == "misaligned":
        return (
            f"{who} {verb} {size} bytes at byte {offset} of {name}: "
            f"an access of {size} bytes must begin at a multiple of {size}"
        )
    if kind == "unwritten" and thread < 0:
        more = f" ({count} of its {tensor.numel()} elements were not)" if count > 1 else ""
        return f"{element} was never written{more}"
    if kind == "unwritten":
        return f"{who} {verb} {element}, which no thread has written before"
    if kind == "race":
        other = f"thread {other_thread}"
        if more >= 0:
            other = f"{_where(more % grid_x, more // grid_x, other_thread)},"
        if place == other_place and writes and other_writes:
            return (
                f"{who} writes {element}, which {other} also writes ({_line(place)}): only one may"
            )
        same_warp = more < 0 and thread // 32 == other_thread // 32
        done = ("also writes" if writes else "writes") if other_writes else "reads"
        return (
            f"{who} {verb} {element}, which {other} {done} ({_line(other_place)}), and "
            + _what_is_missing(more >= 0, same_warp)
        )
    if kind == "left":
        returned = lanes_in(more << (thread // 32 * 32)).replace("lane", "thread")
        return f"{who} waits at a __syncthreads that {returned} of its warp never reached"
    return (
        f"{who} waits at a __syncthreads while thread {other_thread} waits at another "
        f"({_line(other_place)}): all threads must come to the same one"
    )


def _what_is_missing(other_block, same_warp):
    if other_block:
        return "nothing orders two blocks"
    if same_warp:
        return "neither __syncwarp nor __syncthreads stands between"
    return "no __syncthreads stands between"


def _line(place):
    file, _, line = place.rpartition(":")
    return f"{file}, line {line}"
