"""Mistakes in the two formulas of roofline: the floor of a kernel's time and the roofline."""

import math
from functools import partial

import torch

from gemlite_lab.checker.mistakes.model import Mistake, Model

_GROUP_SIZES = (32, 64, 128, 256)


def _floor_parts(case):
    return {
        "N": case.N, "K": case.K, "nbits": case.nbits, "gb_per_s": case.read_gb_per_s,
        "rows": case.N,
        "groups": case.K / case.group_size,
        "group_size": case.group_size,
        "code_bytes": case.nbits / 8,
        "numbers": 2,
        "number_bytes": 2,
        "codes": 1,
        "besides": 0,
        "GB": 1e9,
        "unit": 1e6,
        "time": lambda nbytes, speed: nbytes / speed,
        "result": lambda us: us,
    }  # fmt: skip


def _floor(parts):
    nbytes = parts["N"] * parts["K"] * parts["code_bytes"] * parts["codes"]
    nbytes += parts["rows"] * parts["groups"] * parts["numbers"] * parts["number_bytes"]
    speed = parts["gb_per_s"] * parts["GB"]
    us = parts["time"](nbytes + parts["besides"], speed) * parts["unit"]
    return torch.tensor(parts["result"](us), dtype=torch.float64)


def _floor_mistakes(case):
    nbits, bits = case.nbits, case.N * case.K * case.nbits
    nbytes = bits / 8 + 4 * case.N * case.K / case.group_size
    wrong = {
        "code_bytes": {
            "a code takes nbits // 8 bytes, which is 0 below 8 bits; it is nbits / 8": nbits // 8,
            "the codes of all rows end with a whole 32-bit word": -(-bits // 32) * 32 / bits * nbits
                / 8,
            "the bytes of all codes are rounded up to a whole number": -(-bits // 8) / bits * nbits,
            "the bytes of all codes are rounded down to a whole number": bits // 8 / bits * nbits,
            "a code takes 8 / nbits bytes; it is nbits / 8": 8 / nbits,
            "the bits of the codes are counted as bytes": nbits,
            "each code takes 1 byte, as an unpacked one does": 1,
            "each code takes 2 bytes, as an unquantized weight does": 2,
            "each code takes 4 bytes": 4,
            "a code takes nbits / 16 bytes; it is nbits / 8": nbits / 16,
            "a code takes nbits / 32 bytes; it is nbits / 8": nbits / 32,
            "a code takes nbits / 4 bytes; it is nbits / 8": nbits / 4,
            "a code takes nbits * 8 bytes; it is nbits / 8": nbits * 8,
            "each code takes half a byte, whatever nbits is": 0.5,
            "each row begins with a new byte, which leaves bits idle at the end of a row":
                -(-case.K * nbits // 8) / case.K,
            "each row begins with a new 32-bit word, which leaves bits idle at the end of a row":
                -(-case.K * nbits // 32) * 4 / case.K,
            "each row has whole bytes, and the bits behind them are left out":
                case.K * nbits // 8 / case.K,
            "a 32-bit word holds 32 // nbits whole codes, so that 3-bit codes leave bits idle":
                4 / (32 // nbits),
            "a byte holds 8 // nbits whole codes, so that 3-bit codes leave bits idle":
                1 / (8 // nbits),
        },
        "codes": {
            "the codes are forgotten: only scales and zeros are counted": 0,
            "K is left out of the codes: one code of each row is counted": 1 / case.K,
        },
        "numbers": {
            "scales and zeros are forgotten": 0,
            "only the scales are counted, not the zeros": 1,
        },
        "number_bytes": {
            "scales and zeros take 4 bytes each; in fp16 it is 2": 4,
            "scales and zeros take 16 bytes each; it is 16 bits": 16,
            "scales and zeros take nbits each, as the codes do": nbits / 8,
            "the zeros take nbits each, as the codes do; they have 16 bits": 1 + nbits / 16,
            "the scales take 4 bytes each, and the zeros 2; in fp16 it is 2 each": 3,
            "the zeros take 1 byte each; they have 16 bits": 1.5,
        },
        "besides": {
            "x is counted too; the floor is that of the weights alone": 2 * case.K,
            "y is counted too; the floor is that of the weights alone": 2 * case.N,
            "x and y are counted too; the floor is that of the weights alone":
                2 * case.K + 2 * case.N,
            "the bytes are rounded up to whole sectors of 32": -nbytes % 32,
        },
        "gb_per_s": {
            "the bandwidth is cut to a whole number of GB/s": int(case.read_gb_per_s),
        },
        "groups": {
            "a row has group_size groups; it has K / group_size": case.group_size,
            "there is one scale and one zero per row, whatever group_size is": 1,
            "each code has a scale and a zero of its own": case.K,
            "a row has group_size / K groups; it has K / group_size": case.group_size / case.K,
            "groups of fewer than 16 are counted as groups of 16":
                case.K / max(case.group_size, 16),
            "a row has one group more than K / group_size": case.K / case.group_size + 1,
            "a row has one group less than K / group_size": case.K / case.group_size - 1,
        },
        "rows": {
            "the groups of one row are counted, not those of all N": 1,
            "the groups of K rows are counted; there are N": case.K,
        },
        "GB": {
            "a GB is taken as 2**30 bytes; in GB/s it is 1e9": 2**30,
            "a GB is taken as 1e9 bits": 1.25e8,
            "a GB is taken as 8e9 bytes": 8e9,
        },
        "unit": {
            "the time is in milliseconds": 1e3,
            "the time is in nanoseconds": 1e9,
            "the time is in seconds": 1,
        },
        "time": {
            "the bytes per second are divided by the bytes instead of the bytes by them":
                lambda nbytes, speed: speed / nbytes,
            "the bytes per microsecond are divided by the bytes instead of the bytes by them":
                lambda nbytes, speed: speed / nbytes * 1e-12,
            "the bytes are multiplied by the bytes per second instead of divided by them":
                lambda nbytes, speed: nbytes * speed,
            "the bytes are multiplied by the bytes per microsecond instead of divided by them":
                lambda nbytes, speed: nbytes * speed * 1e-12,
            "the time is doubled, as if the weights were read twice":
                lambda nbytes, speed: 2 * nbytes / speed,
        },
    }  # fmt: skip
    return [
        *_named(wrong),
        *_along_N(case),
        *_groups_of_one_size(case),
        *_rounded("time", "microseconds"),
    ]


def _groups_of_one_size(case):
    """A number in place of group_size."""
    return [
        Mistake(words, {"groups": groups}, is_alone=True)
        for size in _GROUP_SIZES
        if size != case.group_size
        for words, groups in {
            f"a row has K / {size} groups, whatever group_size is": case.K / size,
            f"a row has K // {size} groups, whatever group_size is": case.K // size,
        }.items()
    ]


def _along_N(case):
    words = "the groups lie along N, N // group_size for each k; they lie along K, in each row"
    return [Mistake(words, {"rows": case.K, "groups": case.N // case.group_size})]


def _rounded(what, unit):
    results = {
        f"the {what} is rounded to a whole number of {unit}": round,
        f"the {what} is rounded down to whole {unit}": math.floor,
        f"the {what} is rounded up to whole {unit}": math.ceil,
    } | {
        f"the {what} is rounded to a multiple of {10.0**-digits:g} {unit}":
            partial(round, ndigits=digits)
        for digits in (1, 2, 3)
    }  # fmt: skip
    return [Mistake(words, {"result": how}, is_alone=True) for words, how in results.items()]


def _named(wrong):
    return [
        Mistake(words, {name: value})
        for name, of_part in wrong.items()
        for words, value in of_part.items()
    ]


def _roofline_parts(case):
    return {
        "Ms": case.Ms,
        "rows": case.Ms,
        "nbytes": [case.nbytes(M) for M in case.Ms],
        "N": case.N,
        "K": case.K,
        "per_product": 2,
        "gb_per_s": case.read_gb_per_s,
        "of_bytes": lambda operations, nbytes: operations / nbytes,
        "memory_unit": 1e-3,
        "matmul_tflops": case.matmul_tflops,
        "limit": min,
        "unit": 1,
        "result": lambda tflops: tflops,
    }


def _roofline(parts):
    found = []
    for M, nbytes in zip(parts["rows"], parts["nbytes"], strict=True):
        operations = parts["per_product"] * M * parts["N"] * parts["K"]
        memory = parts["of_bytes"](operations, nbytes) * parts["gb_per_s"] * parts["memory_unit"]
        tflops = parts["limit"](memory, parts["matmul_tflops"]) * parts["unit"]
        found.append(parts["result"](tflops))
    return torch.tensor(found, dtype=torch.float64)


def _roofline_mistakes(case):
    wrong = {
        "per_product": {
            "a product and its sum are counted as one operation": 1,
            "a product and its sum are counted as four operations": 4,
            "a product and its sum are counted as three operations": 3,
            "the sums of an output are counted as K - 1; each product has one": 2 - 1 / case.K,
            "a bias is counted too, as one operation for each output": 2 + 1 / case.K,
        },
        "rows": {
            "the operations of one row of x are counted, not those of all M": [1] * len(case.Ms),
            **{
                f"M is rounded up to a multiple of {rows}": [-(-M // rows) * rows for M in case.Ms]
                for rows in (8, 16, 32, 64, 128)
            },
        },
        "nbytes": {
            "the bytes of x are added to nbytes, which has them":
                [case.nbytes(M) + 2 * M * case.K for M in case.Ms],
            "the bytes of y are added to nbytes, which has them":
                [case.nbytes(M) + 2 * M * case.N for M in case.Ms],
            "the bytes of x and y are added to nbytes, which has them":
                [case.nbytes(M) + 2 * M * (case.K + case.N) for M in case.Ms],
            "nbytes is not used, and the bytes are those of 16-bit weights":
                [2 * case.N * case.K for _ in case.Ms],
            "nbytes is not used, and the bytes are those of 16-bit weights, x and y":
                [2 * (M * case.K + case.N * case.K + M * case.N) for M in case.Ms],
            "nbytes is not used, and the bytes are those of 4-bit codes":
                [case.N * case.K / 2 for _ in case.Ms],
        },
        "N": {"N is left out of the operations": 1},
        "K": {"K is left out of the operations": 1},
        "of_bytes": {
            "the bytes are divided by the operations; it is operations per byte":
                lambda operations, nbytes: nbytes / operations,
            "the operations are multiplied by the bytes": lambda o, nbytes: o * nbytes,
            "nbytes is taken as bits, and divided by 8": lambda o, nbytes: o / (nbytes / 8),
            "nbytes is multiplied by 8, as if the bandwidth were in bits": lambda o, b: o / (8 * b),
        },
        "memory_unit": {
            "the limit of the memory is in GFLOP/s, that of the arithmetic in TFLOP/s": 1,
            "the limit of the memory is a thousand times too low: 1 TFLOP/s is 1e3 GFLOP/s": 1e-6,
            "a GB is taken as 2**30 bytes; in GB/s it is 1e9": 2**30 / 1e12,
            "a TFLOP is taken as 1024 GFLOP; it is 1e3": 1 / 1024,
        },
        "limit": {
            "the higher of the two limits is taken": max,
            "only the limit of the arithmetic is taken": lambda memory, arithmetic: arithmetic,
            "only the limit of the memory is taken": lambda memory, arithmetic: memory,
            "the two limits are added": lambda memory, arithmetic: memory + arithmetic,
            "the mean of the two limits is taken": lambda m, a: (m + a) / 2,
            "the times of reading and of computing are added, as if they did not overlap":
                lambda memory, arithmetic: 1 / (1 / memory + 1 / arithmetic),
            "half of matmul_tflops is taken as the limit of the arithmetic":
                lambda memory, arithmetic: min(memory, arithmetic / 2),
            "the limits are multiplied": lambda memory, arithmetic: memory * arithmetic,
        },
        "unit": {
            "the result is in GFLOP/s": 1e3,
            "the result is in FLOP/s": 1e12,
            "the result is in PFLOP/s": 1e-3,
        },
    }  # fmt: skip
    return [*_named(wrong), *_rounded("result", "TFLOP/s")]


FLOOR = Model(_floor_parts, _floor_mistakes, _floor)
ROOFLINE = Model(_roofline_parts, _roofline_mistakes, _roofline)
