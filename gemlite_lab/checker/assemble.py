"""`assemble`: the learner's accepted answers as one kernel, in every linear layer of a model."""

import copy
import os
import re
from contextlib import nullcontext
from dataclasses import dataclass, field
from textwrap import dedent

import torch

from gemlite_edu.kernels.errors import OneSentence
from gemlite_edu.kernels.holes import without_comments
from gemlite_edu.kernels.plan import codes_per_group
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.nearest import quantize_to_format
from gemlite_edu.packing import WarpInterleaved, pack_warped_int32
from gemlite_edu.packing.address_map import check_words
from gemlite_edu.runners.load import load
from gemlite_lab.checker.check import EXERCISES
from gemlite_lab.lesson.course import find_lesson
from gemlite_lab.lesson.kept_answers import kept_answer
from gemlite_lab.sandbox.sandbox import AnswerError, Sandbox

KERNEL = "gemv_a16wn_fp32"
_HOLES = ("dequant_dot", "warp_reduce_sum", "scaled_dot")
PIECES = ("pack", *_HOLES)
_FROM_OUTSIDE = "GEMLITE_EDU_PIECES"


class MissingPiece(OneSentence, ValueError):
    """A piece of the kernel is neither among the learner's accepted answers nor left to us."""


def assemble(format, *, dequant_dot=None, ours=()):
    """Put the learner's accepted answers together: an `Assembled` kernel for weights of `format`.

    format: a `Format`, such as Format(4, group_size=128). The pieces are the answers to `pack`,
    `dequant_dot`, `warp_reduce_sum` and, for groups, `scaled_dot` that `check` accepted last.
    dequant_dot: a CUDA text that stands in the place of that answer. A format with levels needs
        one, because the answer takes a code for an integer.
    ours: names of the pieces for which the package's own stand in.
    Prints whose each piece is. Where $GEMLITE_EDU_PIECES is "ours", as where tests run the lesson,
    the missing ones are the package's.

    Raises MissingPiece for a piece that is neither there nor left to us, TypeError or ValueError
    for other arguments.
    """
    if not isinstance(format, Format):
        raise TypeError(f"format must be a Format, got {type(format).__name__}")
    if format.levels is not None and dequant_dot is None:
        raise ValueError(
            f"{format!r} has levels, and the answer to dequant_dot takes a code for an integer: "
            "pass a dequant_dot=... that looks them up"
        )
    needed = [name for name in PIECES if format.group_size or name != "scaled_dot"]
    left = _checked(ours)
    texts = {name: kept_answer(name, ".py" if name == "pack" else ".cu") for name in needed}
    texts["dequant_dot"] = dequant_dot or texts["dequant_dot"]
    missing = [name for name in needed if texts[name] is None and name not in left]
    if missing and os.environ.get(_FROM_OUTSIDE) != "ours":
        raise MissingPiece(_how_to_get(missing))
    texts |= dict.fromkeys(name for name in left if name in needed)
    _check_that_groups_are_met(format, texts)
    print("\n".join(f"{name:<16}{'yours' if texts[name] else 'ours'}" for name in needed))
    return Assembled(format, texts)


def _checked(ours):
    names = [ours] if isinstance(ours, str) else ours
    if not isinstance(names, list | tuple | set):
        raise TypeError(f"ours must be a list of pieces, got {type(ours).__name__}")
    if unknown := [name for name in names if name not in PIECES]:
        raise ValueError(f"ours has {unknown[0]!r:.60}; the pieces are {', '.join(PIECES)}")
    return list(names)


def _how_to_get(missing):
    lessons = {name: find_lesson(EXERCISES[name].lesson).name for name in missing}
    where = ", ".join(f"{name} (work/{lesson}_exercises)" for name, lesson in lessons.items())
    return (
        f"missing: {where}. Pass their checks, or leave a piece to us, as with "
        f'ours=["{missing[0]}"]'
    )


def _check_that_groups_are_met(format, texts):
    """Raise ValueError if scaled_dot calls a dequant_dot that adds up more than one group."""
    layout = WarpInterleaved(format.nbits)
    codes = codes_per_group(layout, format.group_size)
    own, caller = (texts.get(name) or "" for name in ("dequant_dot", "scaled_dot"))
    calls = re.search(r"\bdequant_dot\s*\(", without_comments(caller))
    is_whole_word = codes == codes_per_group(layout, None)
    if own and calls and not is_whole_word and "CODES_PER_GROUP" not in without_comments(own):
        raise ValueError(
            f"your dequant_dot adds up all codes of a word, and with groups of {format.group_size} "
            f"scaled_dot calls it for {codes} at a time: end its loop at CODES_PER_GROUP and "
            'pass that text as dequant_dot=..., or leave it to us with ours=["dequant_dot"]'
        )


@dataclass
class Assembled:
    """A kernel of the learner's pieces for weights of one format.

    texts: {piece: its text, or None where the package's own stands in}.
    """

    format: Format
    texts: dict = field(repr=False)

    def put_into(self, model):
        """A copy of `model` in which this kernel multiplies in every torch.nn.Linear.

        Raises KernelTextError for a piece that does not compile, MissingPiece for a `pack` that
        fails: no other text ever takes its place.
        """
        kernel = self.kernel()
        with self._packer() as pack:
            return _with_layers(
                model, lambda linear: AssembledLinear(linear, self.format, kernel, pack)
            )

    def dense(self, model):
        """A copy of `model` whose weights are those that this format makes of them, unpacked."""
        return _with_layers(model, self._dense_layer)

    def kernel(self):
        """The `Kernel` with the learner's texts in its holes."""
        holes = {name: self.texts[name] for name in _HOLES if self.texts.get(name)}
        return load(KERNEL, self.format.nbits, replace=holes, group_size=self.format.group_size)

    def _packer(self):
        """A context with `pack`; the learner's runs in a process of its own."""
        text = self.texts["pack"]
        return nullcontext(pack_warped_int32) if text is None else Sandbox(_function_of(text))

    def _dense_layer(self, linear):
        layer = copy.deepcopy(linear)
        weight = quantize_to_format(linear.weight, self.format).dequantize()
        layer.weight = torch.nn.Parameter(weight.to(linear.weight.dtype), requires_grad=False)
        return layer


class AssembledLinear(torch.nn.Module):
    """y = x Wᵀ + bias by the learner's kernel, from the words that the learner's `pack` made."""

    def __init__(self, linear, format, kernel, pack):
        super().__init__()
        q = quantize_to_format(linear.weight, format)
        self.out_features, self.in_features = N, K = q.codes.shape
        self._kernel = kernel
        words = _packed(pack, q.codes.cpu(), format.nbits)
        check_words(words, WarpInterleaved(format.nbits), K, N)
        scales = torch.ones(N, 1) if q.scales is None else q.scales.float()
        if q.tensor_scale is not None:
            scales = scales * q.tensor_scale
        zeros = torch.zeros_like(scales) if q.zeros is None else q.zeros
        for name, tensor in (
            ("W_packed", words.to(scales.device)),
            ("scales", scales),
            ("zeros", zeros),
        ):
            self.register_buffer(name, tensor)
        self.register_buffer("bias", linear.bias)

    def forward(self, x):
        y = self._kernel(x.flatten(0, -2).half(), self.W_packed, self.scales, self.zeros)
        y = y.unflatten(0, x.shape[:-1]).to(x.dtype)
        return y if self.bias is None else y + self.bias


def _packed(pack, codes, nbits):
    """The words (N, words) int32 of codes (N, K)."""
    try:
        return pack(codes, nbits)
    except AnswerError as error:
        raise MissingPiece(
            f"your pack raised {error.kind}: {error}; its kept text has torch and itself alone, "
            "so define inside what else it needs, and check it again"
        ) from None


def _with_layers(model, make):
    """A copy of `model` with make(layer) in the place of each torch.nn.Linear."""
    model = copy.deepcopy(model)
    linears = [(n, m) for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)]
    for name, linear in linears:
        parent, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(parent), own_name, make(linear))
    return model


def _function_of(text):
    """The learner's `pack`, from its text."""
    names = {"torch": torch, "__name__": "__main__"}
    exec(compile(dedent(text), "pack", "exec"), names)
    return names["pack"]
