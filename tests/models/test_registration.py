"""Registration with transformers, on a small double of the parts of it that are used."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gemlite_edu.models import registration

ROOT = Path(__file__).parent.parent.parent
FILES = {
    "__init__.py": "",
    "quantizers/__init__.py": "from . import auto",
    "quantizers/base.py": "class HfQuantizer: pass",
    "quantizers/auto.py": """
FOUND = {}
def register(name):
    return lambda cls: FOUND.setdefault(name, []).append(cls.__name__) or cls
register_quantization_config = register_quantizer = register
""",
    "utils/__init__.py": "",
    "utils/quantization_config.py": "class QuantizationConfigMixin: pass",
}
THIS_PACKAGE_FIRST = """
import sys, gemlite_edu
assert not {"torch", "transformers"} & set(sys.modules)
import transformers.quantizers
print(transformers.quantizers.auto.FOUND)
"""


def test_a_quantizer_and_its_config_are_registered_once(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "transformers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", THIS_PACKAGE_FIRST]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    expected = "{'gemlite_edu': ['GemLiteConfig', 'GemLiteQuantizer']}\n"
    assert (result.stdout, result.stderr) == (expected, "")


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What is registered, with a module in place of transformers' list of quantizers."""
    made = []
    (tmp_path / "list_of_quantizers.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    others = [f for f in sys.meta_path if not isinstance(f, registration._Waiting)]
    monkeypatch.setattr(sys, "meta_path", others)
    monkeypatch.setattr(registration, "_LIST", "list_of_quantizers")
    monkeypatch.setattr(
        registration, "_register", lambda: made.append("list_of_quantizers" in sys.modules)
    )
    yield made
    sys.modules.pop("list_of_quantizers", None)


def test_whichever_is_imported_first_the_list_is_there_when_we_register(calls):
    finders = list(sys.meta_path)
    registration.register_when_imported()
    assert calls == []
    importlib.import_module("list_of_quantizers")
    assert calls == [True] and sys.meta_path == finders
    registration.register_when_imported()
    assert calls == [True, True] and sys.meta_path == finders


def test_another_version_of_transformers_gets_a_warning(monkeypatch):
    monkeypatch.setitem(sys.modules, "gemlite_edu.models.transformers_quantizer", None)
    monkeypatch.delattr("gemlite_edu.models.transformers_quantizer", raising=False)
    with pytest.warns(UserWarning, match="gemlite_edu cannot register with this version of tran"):
        registration._register()
