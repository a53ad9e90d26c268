"""Hashes of the kernels' current texts: configs measured with another text may not hold."""

import hashlib
import io
import re
import tokenize
from functools import cache

from gemlite_edu.kernels.triton import FOLDER, INT4_KERNELS, KERNELS


@cache
def kernel_hashes():
    """{kernel: hash of its current text, including all that it imports from other files}."""
    return {name: _hash_of(_files_of(name)) for name in (*KERNELS, *INT4_KERNELS)}


@cache
def all_kernels_hash():
    """One hash of the texts of all kernels, including those without configs."""
    return _hash_of(path for path in sorted(FOLDER.glob("*.py")) if "\n@triton.jit" in _text(path))


def _files_of(kernel):
    """The files of the kernel, of its imports, and of the second pass that adds its chunks."""
    found, new = set(), {kernel, "add_chunks"}
    while new:
        found |= new
        texts = "".join(_text(FOLDER / f"{name}.py") for name in new)
        new = set(re.findall(r"^from \.(\w+) import", texts, re.MULTILINE)) - found
    return [FOLDER / f"{name}.py" for name in sorted(found)]


def _text(path):
    return path.read_text(encoding="utf-8")


def _hash_of(files):
    tokens = [token for path in files for token in _tokens(_text(path))]
    return hashlib.sha256(" ".join(tokens).encode()).hexdigest()[:16]


def _tokens(text):
    """The tokens that a compiler sees: without comments, docstrings and line breaks."""
    unseen = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in unseen and not token.string.startswith('"""'):
            yield token.string
