"""Register with transformers as soon as it is there, whichever of the two is imported first.

Nobody imports the other: this waits for transformers to import its own list of quantizers.
"""

import importlib.util
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

_LIST = "transformers.quantizers.auto"


def register_when_imported() -> None:
    """Register now if transformers has its list of quantizers, else as soon as it imports that."""
    if _LIST in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """A finder that finds nothing itself, but lets `_register` follow the import of `_LIST`."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The usual spec of `_LIST`, whose loader registers afterwards; None for other modules."""
        if name != _LIST:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_register(module: ModuleType) -> None:
            load(module)
            _register()

        spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
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
