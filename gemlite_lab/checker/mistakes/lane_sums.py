"""Mistakes in warp_reduce_sum: which lane a shuffle brings a value from, and what becomes of it."""

import torch

from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.mistakes.model import Mistake, Model

_LANE = torch.arange(WARP_SIZE)
_WARPS = 32  # of a block


def _parts_of(case):
    K = case.x.shape[1]
    W, x = (torch.nn.functional.pad(t.double(), (0, -K % WARP_SIZE)) for t in (case.W, case.x))
    products = x.view(len(x), 1, -1, WARP_SIZE) * W.view(1, len(W), -1, WARP_SIZE)
    return {
        "lanes": products.sum(2).transpose(0, 1),  # (N, M, 32)
        "offsets": (16, 8, 4, 2, 1),
        "source": _down,
        "joined": lambda own, brought, first: own + brought,
        "joined_at": {},
        "rounded": lambda value: value,
        "result": lambda lanes: lanes[..., 0],
    }


def _down(offset):
    return torch.where(_LANE + offset < WARP_SIZE, _LANE + offset, _LANE)


def _half(values):
    return values.half().double()


def _cut(values, bits):
    """values as float32 without their lowest bits, float64."""
    words = values.float().view(torch.int32)
    return ((words >> bits) << bits).view(torch.float32).double()


def _of_the_first_warp(lanes):
    is_first = torch.arange(len(lanes)) % _WARPS == 0
    return torch.where(is_first[:, None], lanes.sum(-1), lanes[..., 0])


def _output(parts):
    first = lanes = parts["rounded"](parts["lanes"])
    for offset in parts["offsets"]:
        brought = lanes[..., parts["source"](offset)]
        join = parts["joined_at"].get(offset, parts["joined"])
        lanes = parts["rounded"](join(lanes, brought, first))
    return parts["result"](lanes).T.half().double()


def _mistakes_of(case):
    offsets = {
        "nothing is reduced: lane 0 writes its own partial sum": (),
        "the step of offset 1 is missing": (16, 8, 4, 2),
        "the step of offset 16 is missing": (8, 4, 2, 1),
        "the step of offset 2 is missing": (16, 8, 4, 1),
        "the step of offset 4 is missing": (16, 8, 2, 1),
        "the step of offset 8 is missing": (16, 4, 2, 1),
        "only the first step, offset 16, is taken": (16,),
        "only the last step, offset 1, is taken": (1,),
        "the steps end at offset 4": (16, 8, 4),
        "there are three steps, offsets 4, 2 and 1: enough for 8 lanes, not for 32": (4, 2, 1),
        "there is a step of offset 32, or of 0, by which a lane adds its own value":
            (32, 16, 8, 4, 2, 1),
        "the offset is never halved": (16,) * 5,
        "the offset stays 1": (1,) * 5,
        "the offset 1 is taken 31 times, so that lanes count many times": (1,) * 31,
        "the offset 1 is taken 32 times, so that lanes count many times": (1,) * 32,
        "the offset goes down by 1 instead of being halved, so that lanes count many times":
            tuple(range(16, 0, -1)),
        "the offset goes down by 2 instead of being halved, so that lanes count many times":
            tuple(range(16, 0, -2)),
        "the offsets 1 to 31 are all taken, so that lanes count many times": tuple(range(1, 32)),
        "the offsets 31 to 1 are all taken, so that lanes count many times":
            tuple(range(31, 0, -1)),
        "the offsets 1 to 16 are all taken, so that lanes count many times": tuple(range(1, 17)),
        "the offsets are the numbers 1 to 5; each is half of the one before": (1, 2, 3, 4, 5),
        "the offset is divided by 4, not by 2": (16, 4, 1),
        "the offset goes down by 4 instead of being halved": (16, 12, 8, 4),
        "the offset goes down by 8 instead of being halved": (16, 8),
        "a shuffle takes half the offset: 8, 4, 2, 1, 0, or its width is 16": (8, 4, 2, 1, 0),
        "the offset 2 is taken twice, and the offset 1 never": (16, 8, 4, 2, 2),
        "a shuffle takes twice the offset: 32, 16, 8, 4, 2": (32, 16, 8, 4, 2),
        "the offsets begin at 31 and are halved: 31, 15, 7, 3, 1": (31, 15, 7, 3, 1),
    }  # fmt: skip
    sources = {
        "the shuffle names lane `offset` itself, not the lane `offset` further up":
            lambda offset: 0 * _LANE + offset % WARP_SIZE,
        "each step adds lane 0's own value again: values must travel down, to lower lanes":
            lambda offset: 0 * _LANE,
        "the width of each shuffle is its offset, so that every lane gets its own value":
            lambda offset: _LANE,
    }  # fmt: skip
    joined = {
        "the neighbour's value replaces the sum instead of being added": lambda o, b, f: b,
        "the largest partial sum is taken instead of the sum": lambda o, b, f: torch.maximum(o, b),
        "the neighbour's value is subtracted": lambda o, b, f: o - b,
        "the values are multiplied instead of added": lambda o, b, f: o * b,
        "the neighbour's value is added twice": lambda o, b, f: o + 2 * b,
        "a lane's own value is added twice": lambda o, b, f: 2 * o + b,
        "the sums are cut to TF32, which has 10 bits behind the point":
            lambda o, b, f: _cut(o + b, 13),
        "the sums are cut to bfloat16, which has 7 bits behind the point":
            lambda o, b, f: _cut(o + b, 16),
        "each step brings the other sum in bfloat16": lambda o, b, f: o + b.bfloat16().double(),
        "each step brings the other sum in half precision": lambda o, b, f: o + _half(b),
        "the sums are rounded to bfloat16": lambda o, b, f: (o + b).bfloat16().double(),
    }  # fmt: skip
    joined_at = {
        "the last step brings the other sum in half precision": {1: lambda o, b, f: o + _half(b)},
        "the last step adds in half precision": {1: lambda o, b, f: _half(_half(o) + _half(b))},
        "the sum of the first step is rounded to half precision":
            {16: lambda o, b, f: _half(o + b)},
    }  # fmt: skip
    rounded = {
        "the sums are held in half precision": _half,
        "the sums are held in integers, which cut off the fraction": torch.trunc,
        "the sums are clamped to 65504, the largest half; fp32 holds larger ones":
            lambda v: v.clamp(-65504, 65504),
    }  # fmt: skip
    results = {
        "the sum of 32 lanes is divided by 32": lambda lanes: lanes[..., 0] / WARP_SIZE,
    }
    parts = {
        "offsets": offsets, "source": sources, "joined": joined, "joined_at": joined_at,
        "rounded": rounded, "result": results,
    }  # fmt: skip
    return [
        Mistake(
            "lane 0 begins with its own value, and then adds those of all 32 lanes, its own again",
            {"offsets": (), "result": lambda lanes: lanes.sum(-1) + lanes[..., 0]},
        ),
        Mistake(
            "lane 0 adds up the values of lanes 1 to 31 and leaves out its own",
            {"offsets": (), "result": lambda lanes: lanes[..., 1:].sum(-1)},
        ),
        Mistake(
            "only the first of a block's 32 warps adds up: threadIdx.x counts through the block, "
            "and a lane's number is threadIdx.x % 32",
            {"offsets": (), "result": _of_the_first_warp},
        ),
        *(
            Mistake(words, {name: value})
            for name, wrong in parts.items()
            for words, value in wrong.items()
        ),
    ]


LANE_SUMS = Model(_parts_of, _mistakes_of, _output, ("lanes",))
