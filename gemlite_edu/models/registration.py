"""Register with transformers as soon as it is there, whichever of the two is imported first.

Nobody imports the other: this waits for transformers to import its own list of quantizers.
"""

import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_LIST = "transformers.quantizers.auto"


def register_when_imported() -> None:
    """Register now if transformers has its list of quantizers, else as soon as it imports that."""
    if _LIST in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """A finder that finds nothing itself, but lets `_register` follow the import of `_LIST`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The usual spec of `_LIST`, whose loader registers afterwards; None for other modules."""
        if name != _LIST:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        loader: Any = spec.loader
        load = loader.exec_module

        def load_and_register(module: ModuleType) -> None:
            load(module)
            _register()

        loader.exec_module = load_and_register
        return spec


def _register() -> None:
    try:
        from gemlite_edu.models import transformers_quantizer  # noqa: F401
    except (ImportError, AttributeError, TypeError) as error:
        warnings.warn(
            f"gemlite_edu cannot register with this version of transformers ({error}), so "
            "from_pretrained will refuse its folders; transformers 5 is known to work",
            stacklevel=2,
        )
