"""Refuse an answer the modules of this repository, which hold what it is asked to write."""

import sys

_OWN = ("gemlite_edu", "gemlite_lab")


class _Refusal:
    """A finder that Python asks first; it finds nothing, and refuses the modules of `_OWN`."""

    def __init__(self, packages):
        self._packages = packages

    def find_spec(self, name, path=None, target=None):
        package, _, inside = name.partition(".")
        if package in _OWN and inside and package not in self._packages:
            raise ImportError(f"an answer may not use {name}: write it yourself")


def refuse_imports(packages):
    """From now on no module of this repository is imported, except of these packages."""
    sys.meta_path.insert(0, _Refusal(packages))
