"""A saved `GemLiteLinear`: its tensors, and everything else as `metadata`, a tensor of ints.

The first 12 ints are those of GemLite's layers. A layer of a `Format` has its text behind them, one
int for each byte of UTF-8.
"""

import torch

from gemlite_edu.kernels.decoders import Coding
from gemlite_edu.numbers.checks import FLOATS
from gemlite_edu.numbers.format import Format
from gemlite_edu.operators.form import Form
from gemlite_edu.operators.pack import INSIDE, PLAIN_8_BIT, checked, not_finite

_OPTIONAL = ("channel_scales", "bias")
_INTS_OF_FORM, _METADATA = 10, 12
BIAS_IN_METADATA = 11  # 1 if there is a bias


def metadata_of(form, format, tensors):
    """The `metadata` of a layer: everything that a file must store besides the tensors, as ints.

    format: the layer's `Format`; None: its codes are integers.
    """
    present = [int(tensors[name] is not None) for name in _OPTIONAL]
    text = b"" if format is None else format.to_text().encode()
    return torch.tensor([*form.to_ints(), *present, *text], device=tensors["W_q"].device)


def saved(metadata, tensors):
    """(`Form`, tensors, `Format`) of a saved layer, from its `metadata_of` and its tensors.

    tensors: {name: tensor or None}; those returned have the levels of the format beside them.
    Raises TypeError or ValueError if no layer can have been saved like this.
    """
    form, format = saved_form(metadata, tensors)
    broken = not_finite(tensors)
    if broken:
        raise ValueError(f"the saved layer's {broken[0]} must be finite, got a NaN or an infinity")
    levels = None if format is None else format.levels_on(tensors["W_q"].device)
    tensors = tensors | {"levels": levels}
    return checked(form, tensors), tensors, format


def saved_form(metadata, tensors):
    """(`Form`, `Format`) of a saved layer, but for what the numbers in its tensors decide.

    Only `metadata` needs numbers: the others may be on meta. Raises ValueError as `saved`.
    """
    if metadata.is_meta:
        raise ValueError("it has no numbers: it is on meta")
    if metadata.dtype != torch.int64 or metadata.dim() != 1 or len(metadata) < _METADATA:
        raise ValueError(f"it must be {_METADATA} ints or more, got {tuple(metadata.shape)}")
    ints = metadata.tolist()
    present = ints[_INTS_OF_FORM:_METADATA]
    if not set(present) <= {0, 1}:
        raise ValueError(f"no layer is saved as {ints[:_METADATA]}")
    format = _format_of(ints[_METADATA:])
    coding = None if format is None else Coding.of(format)
    form = Form.from_ints(ints[:_INTS_OF_FORM], tensors["W_q"].dtype, coding=coding)
    for name, (shape, dtypes) in _expected(form, present).items():
        tensor = tensors[name]
        if tensor is None and shape is None:
            continue
        if tensor is None or tuple(tensor.shape) != shape or tensor.dtype not in dtypes:
            came = "none" if tensor is None else f"{tuple(tensor.shape)} {tensor.dtype}"
            types = " or ".join(map(str, dtypes))
            raise ValueError(f"the saved layer must have {name} {shape} {types}, got {came}")
    return form, format


def _format_of(ints):
    if not ints:
        return None
    if min(ints) < 0 or max(ints) > 255:
        raise ValueError("the text of its format is damaged")
    return Format.from_text(bytes(ints).decode(errors="replace"))


def _expected(form, present):
    """{name: (shape, dtypes)} that the tensors of a layer must have; shape None: no such tensor."""
    N, layout, high = form.out_features, form.layout, form.layout.high
    if layout.nbits is None:
        word_dtypes = (form.input_dtype.value,) if form.W_nbits == 16 else PLAIN_8_BIT
        of_groups = None
    else:
        word_dtypes, of_groups = (layout.word_dtype,), (layout.padded_groups, N)
    return {
        "W_q": (layout.shape(N), word_dtypes),
        "high": (None, ()) if high is None else (high.shape(N), (high.word_dtype,)),
        "scales": (of_groups if "scales" in INSIDE[form.mode] else None, FLOATS),
        "zeros": (of_groups if "zeros" in INSIDE[form.mode] else None, FLOATS),
    } | {
        name: ((N,) if is_there else None, FLOATS)
        for name, is_there in zip(_OPTIONAL, present, strict=True)
    }
