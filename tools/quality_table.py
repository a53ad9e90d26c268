"""Write the table of docs/quality.md from gemlite_lab/data/quality.json.

python tools/quality_table.py      (tools/measure_quality.py measures)
"""

import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "gemlite_lab" / "data" / "quality.json"
PAGE = ROOT / "docs" / "quality.md"
BEGIN, END = "<!-- quality: python tools/quality_table.py -->", "<!-- end of quality -->"
_QUANTIZERS = ("nearest", "hqq", "gptq")
_WHOLE = {"ternary": "layer", "fp16": ""}


def recorded():
    """The record as a dict; its rows by (weights, group, quantizer, with_head)."""
    record = json.loads(RECORD.read_text())
    names = ("weights", "group", "quantizer", "with_head")
    record["rows"] = {tuple(row[name] for name in names): row for row in record["rows"]}
    return record


def table(record):
    """The lines of the table in Markdown."""
    texts, rows = record["held_out"], record["rows"]
    yield (
        f"{record['date']}, torch {record['torch']}, hqq {record['hqq']}. "
        f"{texts['modules']} modules, {texts['bytes']:,} bytes; "
        f"GPTQ saw {record['calibration_tokens']:,} tokens of others."
    )
    yield ""
    yield "| weights | scale per | bits | bits as packed | kB | nearest | HQQ | GPTQ |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for weights, group, with_head in dict.fromkeys((w, g, head) for w, g, _, head in rows):
        of = [rows.get((weights, group, name, with_head)) for name in _QUANTIZERS]
        yield _line(of, weights, group, with_head)


def _line(of, weights, group, with_head):
    size = of[0]
    packed = 8 * size["bytes"] / size["count"]
    per = f"{group} weights" if group else _WHOLE.get(weights, "channel")
    cells = [f"{row['bits_per_byte']:.3f}" if row else "" for row in of]
    name = f"{weights}, the head too" if with_head else weights
    bits = f"{size['bits']:.2f}" if size["bits"] else ""
    sizes = [bits, f"{packed:.2f}", f"{size['bytes'] / 1000:,.0f}"]
    return "| " + " | ".join([name, per, *sizes, *cells]) + " |"


def page_with_table(text, record):
    """The page's text with a new table between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has not both marks, {BEGIN} and {END}: put them back")
    return "\n".join([before + BEGIN, *table(record), END]) + after


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(), recorded()))
