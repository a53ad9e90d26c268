"""Mistakes in floor_us: the bytes of packed weights, and the time that reading them takes."""

import torch

from gemlite_lab.checker.mistakes.formulas import named, rounded
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
        "undivided": 0,
        "GB": 1e9,
        "unit": 1e6,
        "time": lambda nbytes, speed: nbytes / speed,
        "result": lambda us: us,
    }  # fmt: skip


def _floor(parts):
    nbytes = parts["N"] * parts["K"] * parts["code_bytes"] * parts["codes"]
    nbytes += parts["rows"] * parts["groups"] * parts["numbers"] * parts["number_bytes"]
    speed = parts["gb_per_s"] * parts["GB"]
    us = parts["time"](nbytes + parts["besides"], speed) * parts["unit"] + parts["undivided"]
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
            "each row has whole words of 32 // nbits whole codes, which leave bits idle":
                -(-case.K // (32 // nbits)) * 4 / case.K,
        },
        "codes": {
            "the codes are forgotten: only scales and zeros are counted": 0,
            "K is left out of the codes: one code of each row is counted": 1 / case.K,
        },
        "numbers": {
            "scales and zeros are forgotten": 0,
            "only the scales are counted, not the zeros": 1,
            **({"weights of 8 bits have no zeros": 1} if nbits == 8 else {}),
        },
        "number_bytes": {
            "scales and zeros take 4 bytes each; in fp16 it is 2": 4,
            "scales and zeros take 16 bytes each; it is 16 bits": 16,
            "a group has 16 bytes of scale and zero; two numbers of 16 bits are 4 bytes": 8,
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
            "a row has N / group_size groups; groups lie along K, so it has K / group_size":
                case.N / case.group_size,
            "the groups of all rows are multiplied by N; N * K / group_size are all there are":
                case.N * case.K / case.group_size,
            "there is one scale and one zero per row, whatever group_size is": 1,
            "each code has a scale and a zero of its own": case.K,
            "a row has group_size / K groups; it has K / group_size": case.group_size / case.K,
            "groups of fewer than 16 are counted as groups of 16":
                case.K / max(case.group_size, 16),
            "a row has at least 2 groups; it has K / group_size": max(case.K / case.group_size, 2),
            "a row has one group more than K / group_size": case.K / case.group_size + 1,
            "a row has one group less than K / group_size": case.K / case.group_size - 1,
        },
        "rows": {
            "the groups of one row are counted, not those of all N": 1,
            "the groups of K rows are counted; there are N": case.K,
            "N / group_size groups are counted; each of the N rows has K / group_size": case.N
                / case.K,
        },
        "GB": {
            "a GB is taken as 2**30 bytes; in GB/s it is 1e9": 2**30,
            "bits are divided by GB/s: a byte has 8 bits, and a GB 1e9 bytes": 1.25e8,
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
            "1e9 multiplies where it should divide: brackets around the divisor are missing":
                lambda nbytes, speed: nbytes / speed * 1e18,
            "1e3 multiplies where it should divide: 1 GB/s is 1e3 bytes in a microsecond":
                lambda nbytes, speed: nbytes / speed * 1e6,
            "the time is doubled, as if the weights were read twice":
                lambda nbytes, speed: 2 * nbytes / speed,
        },
    }  # fmt: skip
    return [
        *named(wrong),
        *_undivided(case),
        *_along_N(case),
        *_groups_of_one_size(case),
        *rounded("time", "microseconds"),
        Mistake(
            "a time below 1 microsecond is raised to it",
            {"result": lambda us: max(us, 1.0)},
            is_alone=True,
        ),
    ]


def _undivided(case):
    words = (
        "only scales and zeros are divided by the bandwidth: brackets around the sum are missing"
    )
    return [Mistake(words, {"codes": 0, "undivided": case.N * case.K * case.nbits / 8})]


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


FLOOR = Model(_floor_parts, _floor_mistakes, _floor)
