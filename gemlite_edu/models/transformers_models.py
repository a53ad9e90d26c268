"""Models of transformers: written by its save_pretrained, read by its from_pretrained.

Importing this module does not import transformers, which is optional.
"""

import sys
from pathlib import Path
from typing import Any, TypeGuard

import torch

from gemlite_edu.models.folder import counted
from gemlite_edu.models.saved_layers import TrustedTexts, trusting
from gemlite_edu.models.shards import Shards


def is_one(model: object) -> TypeGuard[Any]:
    """True for a model of transformers."""
    modeling = sys.modules.get("transformers.modeling_utils")
    return modeling is not None and isinstance(model, modeling.PreTrainedModel)


def attach(model: Any) -> None:
    """Make save_pretrained write the `quantization_config` that from_pretrained needs."""
    from gemlite_edu.models.transformers_quantizer import GemLiteConfig, GemLiteQuantizer

    model.config.quantization_config = GemLiteConfig()
    model.hf_quantizer = GemLiteQuantizer(model.config.quantization_config)
    model.quantization_method, model.is_quantized = GemLiteConfig().quant_method, True


def load(
    folder: Path,
    config: dict[str, Any],
    trusted_texts: TrustedTexts,
) -> torch.nn.Module:
    """The model in the folder, by from_pretrained of the class that its config names."""
    name = class_name(folder, config)
    try:
        import transformers
    except ImportError as error:
        raise ImportError(
            f"{folder} holds a {name} of transformers, which does not import here ({error}): "
            "pip install transformers, or pass the model"
        ) from error
    if not hasattr(transformers, name):
        raise ValueError(
            f"transformers {transformers.__version__} has no {name}: load the folder with its "
            "from_pretrained, or pass the model"
        )
    Shards(folder)  # says in one sentence which file is missing or damaged
    model, info = _loaded(getattr(transformers, name), folder, trusted_texts)
    if info["unexpected_keys"]:
        raise ValueError(
            f"{folder} has, and the {name} of its config does not take, "
            f"{counted(info['unexpected_keys'])}; is the config that of the saved model?"
        )
    return model


def _loaded(
    made_class: Any, folder: Path, trusted_texts: TrustedTexts
) -> tuple[torch.nn.Module, dict[str, Any]]:
    """(model, what transformers found while it loaded it)."""
    from huggingface_hub.errors import StrictDataclassError

    with trusting(trusted_texts):
        try:
            return made_class.from_pretrained(folder, dtype="auto", output_loading_info=True)
        except StrictDataclassError as error:
            raise ValueError(
                f"transformers refuses {folder / 'config.json'}: {' '.join(str(error).split())}"
            ) from error
        except RuntimeError as error:
            if "ignore_mismatched_sizes" not in str(error):
                raise
            raise ValueError(
                f"{folder} has tensors of other sizes than its config says, which the report of "
                "transformers lists: is the config that of the saved model?"
            ) from error


def class_name(folder: Path, config: dict[str, Any]) -> str:
    """The class of the model, as its config.json says; ValueError if transformers has none such."""
    names = config.get("architectures")
    names = names if isinstance(names, list) and names else [None]
    if "model_type" not in config or not isinstance(names[0], str):
        raise ValueError(
            f"{folder} holds a {names[0] or 'model'} that is not of transformers: pass a model of "
            "that class as the second argument"
        )
    return names[0]
