"""Describe what goes wrong where lanes work together: warps, matrices, copies and barriers."""

from gemlite_edu.runners.simulator.positions import lanes_in, where


def _stuck(operation, why, missing, block_x, block_y, thread):
    warp, lane = divmod(int(thread), 32)
    who, absent = (
        f"block ({block_x}, {block_y}), warp {warp}: lane {lane}",
        lanes_in(int(missing, 16)),
    )
    if why == "ended" and operation == "shuffle":
        return (
            f"{who} shuffles with a mask that names {absent}, which ended without it; "
            "is the shuffle inside an if?"
        )
    makes = "makes" if absent.startswith("lane ") else "make"
    what = "a match or reduction" if operation == "match" else "a shuffle, vote or __syncwarp"
    if operation in _OF_WHOLE_WARP:
        what = f"{operation}, a matrix operation of the whole warp,"
    return (
        f"{who} waits for ever at {what} that {absent} never {makes}"
        + (", waiting at a __syncthreads" if why == "barrier" else "")
        + "; is it inside an if?"
    )


def _matrix(what, operation, number, *position):
    return f"{where(*position)} calls {operation} " + _MATRIX_MISTAKES[what].format(number)


def _not_in_mask(mask, lane, *position):
    return (
        f"{where(*position)} is lane {lane} of its warp and takes part in a warp operation "
        f"whose mask 0x{mask} does not name it"
    )


def _width(width, *position):
    return (
        f"{where(*position)} shuffles in parts of {width} lanes: the width of a shuffle is 1, 2, "
        "4, 8, 16 or 32"
    )


def _copy(what, size, zfill, *position):
    return f"{where(*position)} " + _COPY_MISTAKES[what].format(size=size, zfill=zfill)


def _barrier(what, number, size, *position):
    return f"{where(*position)} " + _BARRIER_MISTAKES[what].format(number=number, bytes=size)


_COPY_MISTAKES = {
    "size": "copies {size} bytes with __pipeline_memcpy_async, which copies 4, 8 or 16",
    "zfill": "fills {zfill} bytes of an asynchronous copy of {size} with zeros: "
    "zfill is at most its size",
    "notshared": "copies asynchronously to an address that is not in shared memory: "
    "__pipeline_memcpy_async copies from global to shared memory",
    "notglobal": "copies asynchronously from an address that is not in global memory: "
    "__pipeline_memcpy_async copies from global to shared memory",
    "to": "copies {size} bytes asynchronously to an address that is no multiple of {size}",
    "from": "copies {size} bytes asynchronously from an address that is no multiple of {size}",
    "bulksize": "makes a bulk copy of {size} bytes: its size is a multiple of 16",
    "bulkto": "makes a bulk copy to an address that is no multiple of 16",
    "boxto": "copies a box of a matrix to an address that is no multiple of 1024",
    "bulkfrom": "makes a bulk copy from an address that is no multiple of 16",
    "bulknotshared": "makes a bulk copy to {size} bytes that are not all in shared memory",
    "bulknotglobal": "makes a bulk copy from an address that is not in global memory",
    "bulkoutside": "makes a bulk copy of {size} bytes that are not all in the tensor",
}
_BARRIER_MISTAKES = {
    "notshared": "uses a barrier at an address that is not in shared memory",
    "notmade": "uses a barrier that nothing has made: init it, and let the block meet before use",
    "arrivals": "makes a barrier of {number} arrivals: from 1 to 4094 are modelled",
    "bytes": "makes {number} bytes that a barrier waits for: it counts up to 1048575",
    "toomany": "comes to a barrier where all {number} that it takes have come in this phase",
    "stuck": "waits for ever for a phase of a barrier in shared memory, for whose end arrivals "
    "({number}) and bytes of bulk copies ({bytes}) are missing",
}
_OF_WHOLE_WARP = ("load_matrix_sync", "store_matrix_sync", "mma_sync")
_MATRIX_MISTAKES = {
    "lanes": "in a warp of {} lanes, and a matrix operation takes all 32: launch whole warps",
    "address": "with another address than lane 0 of its warp: all lanes give the same",
    "ldm": "with ldm = {}, and lane 0 of its warp with another: all lanes give the same",
    "layout": "with another layout than lane 0 of its warp: all lanes give the same",
    "misaligned": "with an address that lies {} bytes behind a multiple of 32: "
    "a matrix must begin at a multiple of 32 bytes",
    "ldmbytes": "with ldm = {}: rows, or columns, must lie a multiple of 16 bytes apart",
}

TOGETHER = {
    "stuck": _stuck,
    "matrix": _matrix,
    "copy": _copy,
    "barrier": _barrier,
    "notinmask": _not_in_mask,
    "width": _width,
}
