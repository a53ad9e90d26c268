"""The quantizer that transformers calls for folders whose quant_method is gemlite_edu.

Importing this module imports transformers and registers the quantizer. Written for the interface
of transformers 5; version 4 does not name the files, so it can save and is refused when it loads.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from transformers.quantizers.auto import register_quantization_config, register_quantizer
from transformers.quantizers.base import HfQuantizer
from transformers.utils.quantization_config import QuantizationConfigMixin

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.models.folder import (
    QUANT_METHOD,
    check_quantization_config,
    counted,
    quantization_config,
)
from gemlite_edu.models.linear_layers import put
from gemlite_edu.models.saved_layers import (
    in_one_line,
    on_meta_of,
    saved_forms,
    trusted_by_caller,
    trusted_for,
)
from gemlite_edu.models.shards import Shards
from gemlite_edu.operators.form import Form


@register_quantization_config(QUANT_METHOD)
class GemLiteConfig(QuantizationConfigMixin):
    """The `quantization_config` of a folder; the layers themselves say how they are quantized."""

    def __init__(self, **saved: Any) -> None:
        saved = saved or quantization_config()
        check_quantization_config(saved, "the quantization_config")
        self.__dict__.update(saved)


@register_quantizer(QUANT_METHOD)
class GemLiteQuantizer(HfQuantizer):
    """Makes a `GemLiteLinear` of each packed layer; transformers fills it as any module."""

    requires_calibration = True  # so from_pretrained does not quantize: quantize_ does
    is_trainable = False

    def is_serializable(self, **options: Any) -> bool:
        """True: the layers' state is tensors. options: those of save_pretrained, in version 4."""
        return True

    def _process_model_before_weight_loading(
        self,
        model: Any,
        checkpoint_files: Iterable[str | os.PathLike[str]] | None = None,
        **others: Any,
    ) -> None:
        """Replace the layers by ones without numbers, and check that the files have all tensors."""
        names = [str(file) for file in checkpoint_files or []]
        if not names or not all(name.endswith(".safetensors") for name in names):
            raise ValueError(
                f"packed layers are read from safetensors files, and transformers named {names}: "
                "give from_pretrained a folder, and use transformers 5"
            )
        shards = Shards.of_files(names)
        forms = saved_forms(shards)
        texts_of = trusted_for(forms, trusted_by_caller(), "the folder")
        prefix, modules = f"{model.base_model_prefix}.", dict(model.named_modules())
        own = _names_in(model, forms)
        _check_all_taken(model, modules, own.values(), prefix)
        for name, (form, _) in forms.items():
            place = _place(modules, own[name], prefix)
            if place is None:
                continue
            _check_sizes(modules[place], place, form)
            _check_dtype(modules[place], place, form)
            layer = GemLiteLinear(trusted_texts=texts_of[name])
            for part, tensor in on_meta_of(shards, name).items():
                if part != "metadata":
                    tensor = torch.nn.Parameter(tensor, requires_grad=False)
                setattr(layer, part, tensor)
            put(model, (place,), layer)
            # transformers may draw numbers for a module of which a tensor is absent, such as a tied
            # one, and some classes then take the weights of the layers in it.
            modules[place.rpartition(".")[0]]._is_hf_initialized = True
        model._keys_to_ignore_on_load_unexpected = {
            *(model._keys_to_ignore_on_load_unexpected or ()),
            *(rf"(^|\.){re.escape(name.removeprefix(prefix))}\.weight$" for name in own.values()),
        }

    def _process_model_after_weight_loading(self, model: Any, **others: Any) -> None:
        """Complete each layer from its tensors, which now have numbers.

        Raises ValueError if another parameter was not in the files: transformers has drawn it.
        """
        _check_all_loaded(model)
        for name, layer in model.named_modules():
            if isinstance(layer, GemLiteLinear):
                if layer.W_q.is_meta:
                    raise ValueError(
                        f"{name} is offloaded, which packed layers do not support: choose a "
                        "device_map that has a GPU or the CPU for it"
                    )
                try:
                    layer.load_state_dict(layer.state_dict())
                except RuntimeError as error:
                    raise ValueError(f"{name} is damaged: {in_one_line(error)}") from error


def _check_all_loaded(model: torch.nn.Module) -> None:
    """Raise ValueError for a parameter without the mark that transformers gives what it loads."""
    packed = tuple(f"{n}." for n, m in model.named_modules() if isinstance(m, GemLiteLinear))
    is_loaded = {
        name: getattr(parameter, "_is_hf_initialized", False)
        for name, parameter in model.named_parameters()
        if not parameter.is_meta and not name.startswith(packed)  # on meta: offloaded to the disk
    }
    absent = [name for name, loaded in is_loaded.items() if not loaded]
    gives_marks = any(hasattr(parameter, "_is_hf_initialized") for parameter in model.parameters())
    if absent and gives_marks:
        raise ValueError(
            f"the {type(model).__name__} needs, and the files lack, {counted(absent)}, which would "
            "be random: save the model anew, or load it as the class that was saved"
        )


def _check_all_taken(
    model: Any, modules: Mapping[str, torch.nn.Module], names: Iterable[str], prefix: str
) -> None:
    """Raise ValueError for a packed layer that has no place in a part that the model has.

    A model may leave out a whole part, such as a head, and what its class says that it ignores.
    """
    ignored = model._keys_to_ignore_on_load_unexpected or ()
    lost = []
    for name in names:
        part = name.removeprefix(prefix).partition(".")[0]
        has_part = part in modules or prefix + part in modules
        is_ignored = any(re.search(pattern, name) for pattern in ignored)
        if _place(modules, name, prefix) is None and has_part and not is_ignored:
            lost.append(name)
    if lost:
        raise ValueError(
            f"the files have, and the {type(model).__name__} of the config does not take, "
            f"{counted(lost, 'packed layer')}; is the config that of the saved model?"
        )


def _check_dtype(linear: torch.nn.Linear, name: str, form: Form) -> None:
    """Raise ValueError if the model would compute in another dtype than the layer takes."""
    takes, came = form.input_dtype.value, linear.weight.dtype
    if not form.scaled_activations and takes != came:
        raise ValueError(
            f"{name} is packed for {takes}, and the model is to be {came}: "
            f"pass dtype={takes} to from_pretrained"
        )


def _names_in(model: Any, names: Iterable[str]) -> dict[str, str]:
    """{name of a layer in the files: in the model}, because files of some classes keep old names.

    Where this transformers has no list of such names, each is its own.
    """
    try:
        from transformers.conversion_mapping import get_model_conversion_mapping
        from transformers.core_model_loading import WeightRenaming, rename_source_key
    except ImportError:
        return {name: name for name in names}
    mapping = get_model_conversion_mapping(model)
    renamings = [one for one in mapping if isinstance(one, WeightRenaming)]
    return {
        name: rename_source_key(f"{name}.weight", renamings, [])[0].removesuffix(".weight")
        for name in names
    }


def _place(modules: Mapping[str, torch.nn.Module], name: str, prefix: str) -> str | None:
    """The name in this class of model: a base model has no prefix, and one with a head has it."""
    names = name, name.removeprefix(prefix), prefix + name
    return next((n for n in names if type(modules.get(n)) is torch.nn.Linear), None)


def _check_sizes(linear: torch.nn.Linear, name: str, form: Form) -> None:
    sizes, own = (form.out_features, form.in_features), (linear.out_features, linear.in_features)
    if sizes != own:
        raise ValueError(f"{name} is {sizes} in the files and {own} by the config: which is right?")
