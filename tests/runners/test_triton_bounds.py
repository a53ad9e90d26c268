"""Which tensor a wild access of an interpreted kernel is said to have missed."""

import torch

from gemlite_edu.runners.interpreter import accesses

ROOM = torch.zeros(300)
NEIGHBOURS = {"a_ptr": ROOM[:100], "b_ptr": ROOM[120:220]}  # 20 elements apart
BEYOND_A = ROOM.data_ptr() + 4 * 115  # nearer to b


def test_it_is_the_nearest():
    assert accesses._place(BEYOND_A, NEIGHBOURS).endswith("element -5 of b_ptr, which has 100")


def test_it_is_one_that_the_line_names():
    line = "x = tl.load(a_ptr + tl.arange(0, 128))"
    place = accesses._place(BEYOND_A, accesses._named_in(line, NEIGHBOURS))
    assert place.endswith("element 115 of a_ptr, which has 100")


def test_a_line_that_names_none_leaves_all():
    assert accesses._named_in("tl.store(of_a_ptr_row, x)", NEIGHBOURS) == NEIGHBOURS
    assert accesses._named_in("", NEIGHBOURS) == NEIGHBOURS
