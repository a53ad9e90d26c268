"""How often a warp waits for what it asked for.

A warp waits once for all loads that are on their way together. Their number follows from how nvcc
compiles a loop:

- It puts turns together until they have about `unrolled` instructions, at most 16, and asks first
  for what they load. It cannot if it does not know the step of the loop, such as blockDim.x. A
  barrier in each turn leaves the loads of two turns on their way.
- It keeps a thread to so few registers that a multiprocessor holds all its 2048 threads. Of these
  `registers` are free for words on their way, less three for each stream that a turn reads, whose
  address and sum they hold. Those of one turn find room at the cost of others.

A load whose sector the L1 already has does not wait for memory, so that no warp waits more often
than it asks for new sectors.
"""

_MOST_TURNS = 16
_TURNS_AROUND_A_BARRIER = 2
_OF_A_STREAM = 3  # registers: an address has two, a sum one


def waits_for_weights(counts, parameters):
    """Waits of a warp in its loops that load weights."""
    loops = [loop for loop in counts.loops if loop.new]
    if counts.asks_ahead:
        return 1
    all_turns = sum(loop.turns for loop in loops) or 1
    instructions = counts.instructions / counts.warps / all_turns
    turns = parameters.unrolled / max(1, instructions)
    return sum(_waits(loop, turns, parameters.registers) for loop in loops)


def waits_for_x(counts):
    """Waits of a warp in loops that load x alone, such as copies into shared memory."""
    return sum(loop.turns for loop in counts.loops if not loop.new)


def _waits(loop, turns, registers):
    most = _TURNS_AROUND_A_BARRIER if loop.has_barrier else _MOST_TURNS
    together = max(1, min(turns, most)) if loop.is_unrolled else 1
    room = max(registers - _OF_A_STREAM * loop.loads, min(loop.registers, registers))
    on_their_way = min(together * loop.registers, room)
    return loop.turns * min(loop.registers / on_their_way, loop.new)
