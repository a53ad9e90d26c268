"""Mistakes in attainable_tflops: the limit of the memory, of the arithmetic, and their units."""

from functools import partial

import torch

from gemlite_lab.checker.mistakes.formulas import named, rounded
from gemlite_lab.checker.mistakes.model import Model

_DENSE_FP16_TFLOPS = 989, 989.4, 989.5, 990, 1979, 312, 165, 125, 67, 1000  # that people know


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
        "time": lambda operations, tflops: tflops,
        "result": lambda tflops: tflops,
    }


def _roofline(parts):
    found = []
    for M, nbytes in zip(parts["rows"], parts["nbytes"], strict=True):
        operations = parts["per_product"] * M * parts["N"] * parts["K"]
        memory = parts["of_bytes"](operations, nbytes) * parts["gb_per_s"] * parts["memory_unit"]
        tflops = parts["limit"](memory, parts["matmul_tflops"]) * parts["unit"]
        found.append(parts["result"](parts["time"](operations, tflops)))
    return torch.tensor(found, dtype=torch.float64)


def _time(operations, tflops, per_second):
    return operations / (tflops * 1e12) * per_second


def _with_ridge(case, ridge, memory, arithmetic):
    """The limit of the memory below so many operations per byte, else that of the arithmetic."""
    per_byte = memory * 1e3 / case.read_gb_per_s
    return memory if per_byte < ridge else arithmetic


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
            "the limit of the memory is a million times too high: 1 TFLOP/s is 1e3 GFLOP/s": 1e3,
            "the limit of the memory is a thousand times too low: 1 TFLOP/s is 1e3 GFLOP/s": 1e-6,
            "the limit of the memory is divided by 1e12; in GFLOP/s it is divided by 1e3": 1e-12,
            "a GB is taken as 2**30 bytes; in GB/s it is 1e9": 2**30 / 1e12,
            "a TFLOP is taken as 1024 GFLOP; it is 1e3": 1 / 1024,
        },
        "matmul_tflops": {
            "the limit of the arithmetic is cut to a whole number of TFLOP/s":
                int(case.matmul_tflops),
            **{
                f"matmul_tflops is not used, and the limit of the arithmetic is {tflops:g} TFLOP/s":
                    tflops
                for tflops in _DENSE_FP16_TFLOPS
            },
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
            "the operations per byte are returned, not what they allow":
                lambda memory, arithmetic: memory * 1e3 / case.read_gb_per_s,
            "the ridge is returned, in operations per byte":
                lambda memory, arithmetic: arithmetic * 1e3 / case.read_gb_per_s,
            "the ridge is taken at matmul_tflops / read_gb_per_s; a TFLOP/s has 1e3 GFLOP/s":
                lambda memory, arithmetic: memory if memory * 1e3 < arithmetic else arithmetic,
            "the ridge is taken at the bandwidth divided by the operations per second; it is the "
            "other way round, P / B":
                partial(_with_ridge, case, case.read_gb_per_s / (case.matmul_tflops * 1e3)),
            "the ridge is taken at read_gb_per_s / matmul_tflops; it is the other way round, "
            "P / B, and a TFLOP/s has 1e3 GFLOP/s":
                partial(_with_ridge, case, case.read_gb_per_s / case.matmul_tflops),
        },
        "unit": {
            "the result is in GFLOP/s": 1e3,
            "the result is in FLOP/s": 1e12,
            "the result is in PFLOP/s": 1e-3,
        },
        "time": {
            f"a time is returned, in {unit}": partial(_time, per_second=per_second)
            for unit, per_second in {"seconds": 1, "milliseconds": 1e3, "microseconds": 1e6}.items()
        },
    }  # fmt: skip
    return [*named(wrong), *rounded("result", "TFLOP/s")]


ROOFLINE = Model(_roofline_parts, _roofline_mistakes, _roofline)
