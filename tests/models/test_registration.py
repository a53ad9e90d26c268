"""Registration with transformers in both orders, on a small double of the parts that it uses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
ORDERS = {
    "this package first": "import gemlite_edu, sys; assert not {'torch', 'transformers'} & set("
    "sys.modules)\nimport transformers.quantizers",
    "transformers first": "import transformers.quantizers, gemlite_edu",
    "its list last": "import transformers, gemlite_edu, transformers.quantizers",
}


@pytest.fixture
def fake(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "transformers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def run(code, folder):
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("code", ORDERS.values(), ids=ORDERS)
def test_whichever_comes_first_the_quantizer_is_registered_once(fake, code):
    result = run(f"{code}\nprint(transformers.quantizers.auto.FOUND)", fake)
    expected = "{'gemlite_edu': ['GemLiteConfig', 'GemLiteQuantizer']}\n"
    assert (result.stdout, result.stderr) == (expected, "")


def test_another_version_of_transformers_still_imports_and_is_named(fake):
    (fake / "transformers/quantizers/auto.py").write_text("")
    result = run("import gemlite_edu, transformers.quantizers", fake)
    assert result.returncode == 0
    assert "gemlite_edu cannot register with this version of transformers" in result.stderr
