"""Every public function has type hints, which resolve and which a user's type checker sees."""

import ast
import functools
import inspect
import pkgutil
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import torch
import users_program

import gemlite_edu
import gemlite_edu.models
from gemlite_edu.kernels.machine import Machine
from gemlite_edu.operators.choose import MATMUL_TYPES, MatmulType
from gemlite_edu.packing.bitnet_fragments import FRAGMENTS, Fragment
from gemlite_edu.runners.kernel import Kernel

ROOT = Path(__file__).parent.parent
_SPECIAL = ("__init__", "__call__")


def public_objects():
    """(name, object) of everything public: names, and those in public modules."""
    modules = [gemlite_edu, *map(import_module, ("gemlite_edu.core", "gemlite_edu.helper"))]
    modules += [import_module("gemlite_edu.packing")]
    modules += map(gemlite_edu.__getattr__, gemlite_edu._MODULES)
    modules += [
        import_module(f"gemlite_edu.models.{module.name}")
        for module in pkgutil.iter_modules(gemlite_edu.models.__path__)
        if module.name != "transformers_quantizer"  # transformers alone calls it
    ]
    for module in modules:
        own = [name for name, value in vars(module).items() if is_of(module, value)]
        for name in getattr(module, "__all__", own):
            yield f"{module.__name__}.{name}", getattr(module, name)
    yield from {"Kernel": Kernel, "Machine": Machine}.items()  # what the functions return


def is_of(module, value):
    """True for what the module defines for others."""
    name = getattr(value, "__name__", "_")
    return getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")


def functions_of(name, value):
    """(name, function) of a public function, or of the public methods of a class."""
    if inspect.isclass(value):
        for base in value.__mro__:
            for attribute, part in vars(base).items():
                is_public = attribute in _SPECIAL or not attribute.startswith("_")
                if is_public and is_ours(base):
                    yield from functions_of(f"{name}.{attribute}", under(part))
    elif inspect.isroutine(value) and is_ours(value):
        yield name, value


def is_ours(value):
    return getattr(value, "__module__", "").startswith("gemlite_edu")


def under(part):
    """The function in a method, a property or a wrapper."""
    if isinstance(part, property):
        return part.fget
    if isinstance(part, functools.cached_property):
        return part.func
    return getattr(part, "__func__", part) if not inspect.isclass(part) else None


FUNCTIONS = {
    name: inspect.unwrap(function)
    for public, value in public_objects()
    if not isinstance(value, types.ModuleType)
    for name, function in functions_of(public, value)
}


def test_the_public_functions_are_found():
    assert {"gemlite_edu.load", "gemlite_edu.GemLiteLinear.pack", "gemlite_edu.Format.largest"} < (
        FUNCTIONS.keys()
    )
    assert "Kernel.inspect" in FUNCTIONS and "gemlite_edu.models.files.load_quantized" in FUNCTIONS


def test_every_parameter_and_the_return_has_a_hint():
    for function_name, function in FUNCTIONS.items():
        needed = {*inspect.signature(function).parameters, "return"} - {"self", "cls"}
        without = needed - get_type_hints(function).keys()
        assert not without, f"{function_name}: {without}"


def test_type_checkers_see_the_names_that_getattr_finds():
    stub = ast.parse((ROOT / "gemlite_edu" / "__init__.pyi").read_text())
    found = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    homes = gemlite_edu._HOME | gemlite_edu._MODULES
    paths = {name: f"gemlite_edu.{home}" for name, home in gemlite_edu._MODULES.items()}
    paths |= {name: f"gemlite_edu.{home}.{name}" for name, home in gemlite_edu._HOME.items()}
    assert found == paths
    (exported,) = [n.value for n in stub.body if isinstance(n, ast.Assign)]
    assert sorted(ast.literal_eval(exported)) == sorted(gemlite_edu.__all__) == sorted(homes)


def test_dir_lists_all_public_names():
    assert set(gemlite_edu.__all__) <= set(dir(gemlite_edu))


def test_literals_name_what_there_is():
    assert get_args(MatmulType) == tuple(MATMUL_TYPES)
    assert get_args(Fragment) == tuple(FRAGMENTS)


def test_a_users_program_passes_the_checker_and_its_mistakes_do_not():
    command = [sys.executable, "-m", "mypy", users_program.__file__]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_users_program_runs():
    for y in users_program.right():
        assert y.shape == (1, 32) and y.dtype == torch.float16
