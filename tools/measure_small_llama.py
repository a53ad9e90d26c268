"""Measure the small Llama: bits per byte beside xz, and how many of its samples are Python.

    python tools/measure_small_llama.py      (writes measured.json beside the model)

xz is the strongest setting of the xz program, -9e. It compresses the held-out modules one by one,
and all of them in one stream, in which it finds again in a module what it saw in another.
"""

import json
import lzma
import os
import platform
import warnings
from datetime import date

import torch

from gemlite_lab.lesson.generate import generate
from gemlite_lab.lesson.parses import parses
from gemlite_lab.lesson.small_llama import (
    END,
    FOLDER,
    bits_per_byte,
    held_out,
    prompt,
    small_llama,
    tokenizer,
)

SAMPLES, LENGTH, TEMPERATURE = 100, 256, 0.7


def xz_bits(text):
    return 8 * len(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def compressed(model, texts):
    """Bits per byte of `texts` by the model and by xz, and how many modules the model wins."""
    sizes = {name: len(text.encode()) for name, text in texts.items()}
    ours = {name: bits_per_byte(model, {name: texts[name]}) * sizes[name] for name in texts}
    xz = {name: xz_bits(text) for name, text in texts.items()}
    size = sum(sizes.values())
    return {
        "modules": len(texts),
        "bytes": size,
        "model": sum(ours.values()) / size,
        "xz, each module": sum(xz.values()) / size,
        "xz, one stream": xz_bits("".join(texts.values())) / size,
        "modules in which the model needs fewer bits": sum(ours[n] < xz[n] for n in texts),
    }


def samples(model, count=SAMPLES, length=LENGTH, temperature=TEMPERATURE):
    """`count` modules' first tokens, up to `length`: sample i is drawn with seed i."""
    start = prompt().expand(count, -1)
    rows = generate(model, start, length, temperature)[:, start.shape[1] :].tolist()
    ended = [row[: row.index(END)] if END in row else row for row in rows]
    return tokenizer().decode_batch(ended)


def measured():
    torch.set_num_threads(os.cpu_count())
    model = small_llama()
    with warnings.catch_warnings(action="ignore"):  # what Python says of odd code that it accepts
        parsed = sum(parses(text) for text in samples(model))
    return {
        "bits per byte, held out": compressed(model, held_out()),
        "samples": {"all": SAMPLES, "tokens": LENGTH, "temperature": TEMPERATURE, "parse": parsed},
        "device": f"{platform.machine()}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "date": str(date.today()),
    }


if __name__ == "__main__":
    record = measured()
    (FOLDER / "measured.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
