"""Prepare the text on which the small Llama is trained: the standard library's own source.

    python3.11 tools/small_llama_text.py [--library FOLDER]    (Python 3.11.7 and tokenizers)

It divides the modules into those to train on, those that tell when to stop, and those held out,
then trains the tokenizer on the first. The arrays of tokens go to build/small_llama/, and what
lessons read to gemlite_lab/data/small_llama/: the tokenizer, the texts of the other two parts, and
the list of all modules with their hashes.
"""

import argparse
import ast
import hashlib
import json
import lzma
import platform
import shutil
import sysconfig
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

ROOT = Path(__file__).parent.parent
DATA = ROOT / "gemlite_lab" / "data" / "small_llama"
BUILD = ROOT / "build" / "small_llama"
PYTHON = "3.11.7"
END = "<|end|>"  # before and after each module
VOCABULARY = 2048
# Of 100 parts of the modules, the first 4 are held out and the next 3 are for validation.
PARTS = {"held_out": range(0, 4), "validation": range(4, 7), "train": range(7, 100)}
# Tables of characters, generated pages of the manual, and what differs from one machine to another.
LEFT_OUT = ("encodings", "pydoc_data", "site-packages", "_sysconfigdata*", "config-*")
# A word takes one sign or space before it along, and signs take the line's end and the indentation
# after them along, so that a token is long: one kernel call makes one token.
PATTERN = r"[^\s\p{L}\p{N}]?\p{L}+| \p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+(?:\n\s*)?|\s+"


def modules(library):
    """{name: text} of the library's modules that are UTF-8 and parse, each text once."""
    found, seen = {}, set()
    for path in sorted(Path(library).rglob("*.py")):
        inside = path.relative_to(library)
        if any(Path(part).match(pattern) for part in inside.parts for pattern in LEFT_OUT):
            continue
        try:
            text = path.read_bytes().decode()
            ast.parse(text)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        if text.strip() and text not in seen:
            found[".".join(inside.with_suffix("").parts)] = text
            seen.add(text)
    return found


def part_of(name):
    """The part to which a module belongs, by the hash of its subject.

    json.decoder and test.test_json.test_decoder have one subject each: the last part of the name,
    without "test_" and underscores. So a module and its test land in the same part.
    """
    *packages, last = name.split(".")
    if last in ("__init__", "__main__") and packages:
        last = packages[-1]
    subject = last.removeprefix("test").strip("_")
    number = int(hashlib.sha256(subject.encode()).hexdigest(), 16) % 100
    return next(part for part, numbers in PARTS.items() if number in numbers)


def train_tokenizer(texts):
    """A byte-level BPE tokenizer with VOCABULARY entries, of which entry 0 is END."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def tokens_of(texts, tokenizer):
    """One array, uint16: END, then each text followed by END."""
    ids = [0]
    for encoding in tokenizer.encode_batch(list(texts)):
        ids += [*encoding.ids, 0]
    return np.array(ids, dtype=np.uint16)


def write_texts(path, texts):
    lines = (json.dumps({"module": name, "text": text}) + "\n" for name, text in texts.items())
    path.write_bytes(lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def main(library):
    if platform.python_version() != PYTHON:
        raise SystemExit(
            f"the texts are those of Python {PYTHON}, and this is {platform.python_version()}: "
            f"run this with Python {PYTHON}"
        )
    parts = {part: {} for part in PARTS}
    for name, text in modules(library).items():
        parts[part_of(name)][name] = text
    tokenizer = train_tokenizer(parts["train"].values())
    for folder in (DATA, BUILD):
        folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(DATA / "tokenizer.json"))
    write_texts(DATA / "held_out.jsonl.xz", parts["held_out"])
    write_texts(DATA / "validation.jsonl.xz", parts["validation"])
    shutil.copy(Path(library) / "LICENSE.txt", DATA / "LICENSE-PYTHON.txt")
    record = {"python": PYTHON, "pattern": PATTERN, "vocabulary": VOCABULARY, "parts": {}}
    for part, texts in parts.items():
        tokens = tokens_of(texts.values(), tokenizer)
        np.save(BUILD / f"{part}.npy", tokens)
        size = sum(len(text.encode()) for text in texts.values())
        counts = {"modules": len(texts), "bytes": size, "tokens": len(tokens)}
        record["parts"][part] = counts
        print(f"{part}: {counts}, {size / len(tokens):.2f} bytes a token", flush=True)
    hashes = {
        part: {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}
        for part, texts in parts.items()
    }
    (BUILD / "text.json").write_text(json.dumps(record, indent=1) + "\n")
    (DATA / "modules.json").write_text(json.dumps(hashes, indent=0) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default=sysconfig.get_paths()["stdlib"])
    main(parser.parse_args().library)
