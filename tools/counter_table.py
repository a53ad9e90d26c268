"""Write the table of docs/simulator.md: Nsight Compute's counts, and the simulator's differences.

python tools/counter_table.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from counter_kernels import DIFFERENT  # noqa: E402

from gemlite_edu.runners import nsight  # noqa: E402

PAGE = ROOT / "docs" / "simulator.md"
BEGIN, END = "<!-- counters -->", "<!-- end of counters -->"


def table():
    """The table in Markdown, from the record and the list of kernels that differ."""
    record = nsight.recorded()
    yield f"{record['device']}, {record['date']}, Nsight Compute {record['ncu'].split()[1]}."
    yield ""
    yield "| kernel | global loads | global stores | shared loads | shared stores | simulator |"
    yield "|---|---|---|---|---|---|"
    for name, counters in record["kernels"].items():
        values = list(counters.values())
        pairs = [f"{values[i]:,} / {values[i + 1]:,}" for i in range(0, 8, 2)]
        cells = ["" if pair == "0 / 0" else pair for pair in pairs]
        verdict = f"differs: {DIFFERENT[name]}" if name in DIFFERENT else "equal"
        yield "| " + " | ".join([name, *cells, verdict]) + " |"


def page_with_table(text):
    """The page's text with a new table between its marks."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return "\n".join([before + BEGIN, *table(), END]) + after


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
