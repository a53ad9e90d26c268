import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch

from gemlite_edu import FP8_E4M3, INT4, MXFP4, NF4, NVFP4, Format, pair_table

TERNARY = (0, 1, -1, 0)
SAMPLES = (
    INT4,
    FP8_E4M3,
    NVFP4,
    Format(2, TERNARY, {"dequant_pair": 'a "text"\n', "about": "b"}, 64, torch.float32),
    Format(1, (0.1, -1 / 3), scale_dtype=None),
    Format(8, scale_dtype=None, group_size=7),
)


@pytest.mark.parametrize("format", SAMPLES, ids=repr)
def test_a_format_survives_its_text(format):
    text = format.to_text()
    again = Format.from_text(text)
    assert again == format and hash(again) == hash(format) and again.to_text() == text
    assert again.levels == format.levels and again.holes == format.holes
    assert pickle.loads(pickle.dumps(format)) == copy.deepcopy(format) == format


def test_the_text_is_plain_json():
    assert json.loads(MXFP4.to_text()) == {
        "nbits": 4,
        "levels": list(MXFP4.levels),
        "texts": None,
        "group_size": 32,
        "scale_dtype": "float8_e8m0fnu",
        "has_tensor_scale": False,
    }


@pytest.mark.parametrize(
    "text",
    ["", "[" * 100_000, "[]", "{}", "3", '{"nbits": 4}', INT4.to_text().replace("float16", "int8"),
     INT4.to_text().replace('"nbits"', '"bits"'), INT4.to_text().replace("4", "9"), None,
     NF4.to_text().replace("1.0", "Infinity"), INT4.to_text()[:-1] + ', "more": 1}'],
)  # fmt: skip
def test_a_text_of_no_format_is_refused_in_one_sentence(text):
    with pytest.raises(ValueError, match="no format is saved as") as refusal:
        Format.from_text(text)
    assert "\n" not in str(refusal.value)


def test_formats_are_equal_by_value():
    listed = Format(2, list(TERNARY), texts={"b": "x", "a": "y"})
    assert listed == Format(2, torch.tensor(TERNARY), texts=(("a", "y"), ("b", "x")))
    assert listed == Format(2, np.array(TERNARY, dtype=np.float32), texts={"a": "y", "b": "x"})
    assert (
        len({listed, replace(listed), replace(listed, texts={}), replace(listed, texts=None)}) == 2
    )
    assert listed != replace(listed, group_size=32) and replace(INT4, nbits=3) == Format(3)
    assert all(type(level) is float for level in listed.levels)
    with pytest.raises(FrozenInstanceError):
        listed.nbits = 3


@pytest.mark.parametrize(
    "format, words",
    [
        (INT4, "Format(4 bits, integers with zeros, a float16 scale per channel)"),
        (
            NVFP4,
            "Format(4 bits, 16 levels from -6 to 6, a float8_e4m3fn scale per group of 16 "
            "and a float32 scale per tensor)",
        ),
        (
            Format(1, (1, -1), {"dequant_pair": "x"}, scale_dtype=None),
            "Format(1 bit, 2 levels from -1 to 1, no scales, own text for dequant_pair)",
        ),
        (
            Format(2, group_size=8, scale_dtype=None),
            "Format(2 bits, integers with zeros, a zero per group of 8)",
        ),
    ],
    ids=repr,
)
def test_a_repr_is_short_words(format, words):
    assert repr(format) == words


WRONG = {
    "nbits must be an int from 1 to 8, got str": dict(nbits="4"),
    "nbits must be an int from 1 to 8, got bool": dict(nbits=True),
    "nbits must be from 1 to 8, got 0": dict(nbits=0),
    "nbits must be from 1 to 8, got 9": dict(nbits=9),
    "levels must be a tuple of 2**nbits numbers, got float": dict(levels=0.5),
    "levels must be numbers, got '1' among them": dict(levels="1010"),
    "levels must be numbers, got [0.0] among them": dict(levels=torch.zeros(4, 1)),
    "levels must be numbers, got 1j among them": dict(levels=(0, 1, 2, 1j)),
    "levels must be 4 numbers, one for each code of 2 bits, got 3": dict(levels=(0, 1, 2)),
    "levels must be finite and fit in float32, got nan": dict(levels=(0, 1, 2, float("nan"))),
    "levels must be finite and fit in float32, got inf": dict(levels=(0, 1, 2, float("inf"))),
    "levels must be finite and fit in float32, got 1e+39": dict(levels=(0, 1, 2, 1e39)),
    "levels are all 0": dict(levels=(0, 0, 0, -0.0)),
    "texts must be a dict {hole name: text}, got 'int x;'": dict(texts="int x;"),
    "texts must map names to texts, got 'a': 3": dict(texts={"a": 3}),
    "texts must have names of holes and no empty text, got 'a b'": dict(texts={"a b": "x"}),
    "texts must have names of holes and no empty text, got 'a'": dict(texts={"a": " "}),
    "group_size must be an int of at least 1, or None, got 0": dict(group_size=0),
    "group_size must be an int of at least 1, or None, got 32.0": dict(group_size=32.0),
    "group_size must be an int of at least 1, or None, got True": dict(group_size=True),
    "group_size is 8, but a table": dict(levels=TERNARY, group_size=8, scale_dtype=None),
    "scale_dtype must be float16, float32, float8_e8m0fnu, float8_e4m3fn or None, got "
    "torch.bfloat16": dict(scale_dtype=torch.bfloat16),
    "got 'float16'": dict(scale_dtype="float16"),
    "has_tensor_scale must be True or False, got int": dict(has_tensor_scale=1),
    "has_tensor_scale goes with scale_dtype float8_e4m3fn or None, got float16": dict(
        has_tensor_scale=True
    ),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_argument_gets_one_sentence(sentence):
    with pytest.raises((TypeError, ValueError)) as refusal:
        Format(**{"nbits": 2, **WRONG[sentence]})
    assert sentence in str(refusal.value) and "\n" not in str(refusal.value)


def test_bits_per_weight_count_all_that_a_layer_stores():
    assert INT4.bits_per_weight(10, 320) == 4 + (16 + 16) / 320
    assert NF4.bits_per_weight(10, 320) == 4 + 16 / 320
    assert MXFP4.bits_per_weight(10, 320) == 4.25
    assert NVFP4.bits_per_weight(10, 320) == 4.5 + 32 / 3200
    assert Format(3, scale_dtype=None, group_size=16).bits_per_weight(1, 32) == 4
    with pytest.raises(ValueError, match="group_size = 32 does not divide K = 40"):
        MXFP4.bits_per_weight(1, 40)


def test_values_are_the_levels_in_any_shape_and_dtype():
    codes = torch.arange(16, dtype=torch.uint8).reshape(2, 8)
    assert tuple(NF4.values(codes, torch.float64).flatten().tolist()) == NF4.levels
    assert NF4.values(codes.T).shape == (8, 2) and NF4.values(codes).dtype == torch.float32
    assert torch.equal(INT4.values(codes, torch.float16), codes.half())


def test_a_pair_table_takes_a_format():
    for format in (NF4, FP8_E4M3):
        assert pair_table(format).levels == pair_table(format.levels).levels
    with pytest.raises(ValueError, match="levels must be 2, 4, .* got Format"):
        pair_table(INT4)


@pytest.mark.parametrize("levels", [{3.0, -1.0, 0.5, -2.0}, {0: -1.0, 1: 1.0}])
def test_levels_without_an_order_are_refused(levels):
    with pytest.raises(TypeError, match="in the order of the codes"):
        Format(len(levels) // 2, levels=levels)
