"""Run torchao's own test of its int4 matmul against this package; it needs a GPU and hqq.

    python tools/torchao_suite.py torchao/test/hqq/test_triton_mm.py [options of pytest]

This file stands in for `torchao.prototype.hqq`, from which the test imports.
"""

import sys
from types import ModuleType

import pytest

from gemlite_edu import pack_2xint4, triton_mixed_mm


def main(arguments):
    names = ("torchao", "torchao.prototype", "torchao.prototype.hqq")
    modules = {name: ModuleType(name) for name in names}
    vars(modules["torchao.prototype.hqq"]).update(
        pack_2xint4=pack_2xint4, triton_mixed_mm=triton_mixed_mm
    )
    sys.modules.update(modules)
    return pytest.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
