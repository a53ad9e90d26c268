"""Find the host's C++ compilers."""

import os
import shutil


def find_compiler():
    """Path of the host's C++ compiler: $CXX, g++ or clang++. RuntimeError if there is none."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        path = name and shutil.which(name)
        if path:
            return path
    raise RuntimeError(
        "no C++ compiler found, and the simulator compiles kernels with one: "
        "install g++ (Debian, Ubuntu: sudo apt install g++), or set CXX"
    )


def find_instrumenting_compiler():
    """Path of g++; the instruments were validated with its thread sanitizer only."""
    for name in (os.environ.get("CXX"), "g++"):
        path = name and shutil.which(name)
        if path and not is_clang(path):
            return path
    raise RuntimeError(
        "no g++ found, and the simulator's instruments are built with it: "
        "install g++ (Debian, Ubuntu: sudo apt install g++)"
    )


def is_clang(path):
    return "clang" in os.path.basename(os.path.realpath(path))
