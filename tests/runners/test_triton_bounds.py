"""Which tensor a wild access of an interpreted kernel belongs to."""

import numpy as np
import torch

from gemlite_edu.runners.interpreter.memory import Memory

ROOM = torch.arange(300.0)
A, B = ROOM[:100], ROOM[120:220].view(10, 10)[:, :9]  # neighbours; B ends with a gap


def resolved(indices, of, size=4):
    memory = Memory({"a_ptr": A, "b_ptr": B})
    start = memory.made_up(of.data_ptr())
    pointers = (start + 4 * np.array(indices)).astype(np.uint64)
    return memory, pointers, *memory.resolve(pointers, None, size)


def test_a_made_up_address_stands_for_a_real_one():
    _, pointers, parts, real, strays = resolved([0, 7, 98], B)
    assert [place.name for place, _ in parts] == ["b_ptr"] and not strays.size
    assert (real - np.uint64(B.data_ptr())).tolist() == [0, 28, 392]


def test_no_offset_reaches_another_tensor():
    for index in (-1, 100, 120, 2**31 - 1, -(2**31)):
        memory, pointers, parts, _, strays = resolved([3, index], A)
        assert not parts and strays.tolist() == [pointers[1]]
        place, element = memory.nearest(int(strays[0]))
        assert (place.name, element) == ("a_ptr", index)


def test_an_access_must_end_inside():
    assert not resolved([98], A, size=8)[-1].size
    assert resolved([99], A, size=8)[-1].size


def test_one_access_may_reach_two_tensors():
    memory = Memory({"a_ptr": A, "b_ptr": B})
    starts = [memory.made_up(tensor.data_ptr()) for tensor in (A, B)]
    pointers = np.array(starts, dtype=np.uint64)
    parts, real, strays = memory.resolve(pointers, None, 4)
    assert [place.name for place, _ in parts] == ["a_ptr", "b_ptr"] and not strays.size
    assert real.tolist() == [A.data_ptr(), B.data_ptr()]
