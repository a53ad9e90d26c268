"""The rows of whole models as text, and which of the bars that we set ourselves they reach."""

from functools import partial
from itertools import product

from gemlite_lab.bench.model.shapes import SHAPES
from gemlite_lab.bench.model.weights import GROUP_SIZE

LEAST_SPEEDUP = 2.2  # of ours over fp16, 8B, one text
MOST_PREFILL, MOST_MEMORY = 1.15, 0.35  # of ours as a multiple of fp16
_HEADER = (
    f"  {'contender':9} {'step':12} {'us':>9} {'tokens/s':>9} {'x fp16':>7} {'of limit':>8} "
    f"{'as is us':>9} {'linear':>7} {'peak GB':>8} {'equal':>6}"
)


def table(rows):
    """Lines for rows {place: `ModelRow`}: shape by shape, the fastest of each step first."""
    lines = []
    for shape in dict.fromkeys(row.shape for row in rows.values()):
        lines += ["", f"{shape}, W4 g128 where quantized", _HEADER]
        of_shape = [row for row in rows.values() if row.shape == shape]
        order = sorted(of_shape, key=lambda row: (row.phase, row.size, row.p50_us))
        lines += [_line(row, rows) for row in order]
    return "\n".join(lines)


def _line(row, rows):
    fp16 = rows.get((row.shape, "fp16", row.phase, row.size))
    speedup = f"{fp16.p50_us / row.p50_us:7.2f}" if fp16 else " " * 7
    limit = f"{limit_us(row) / row.p50_us:8.0%}" if row.phase == "decode" else " " * 8
    return (
        f"  {row.contender:9} {row.phase:7} {row.size:4} {row.p50_us:9.0f} {row.tokens_per_s:9.0f} "
        f"{speedup} {limit} {row.as_is_us:9.0f} {row.linear_share:7.0%} "
        f"{row.peak_bytes / 1e9:8.2f} {row.equal_tokens:6.0%}"
    )


def limit_us(row):
    """Microseconds of a decoded step if it only read 4-bit weights and the cache, at full speed."""
    of_row = 4, GROUP_SIZE, row.size, row.context, row.read_gb_per_s
    return SHAPES[row.shape].decode_limit_us(*of_row)


def bars(rows):
    """[(what we set ourselves, what came, whether it is reached)] of rows {place: `ModelRow`}.

    A bar for which a row is missing is left out.
    """
    return [bar for bar in _all_bars(rows) if bar is not None]


def _all_bars(rows):
    speedup = f"is so many times as fast as fp16, at least {LEAST_SPEEDUP}"
    of_8b = partial(_against_fp16, rows)
    yield of_8b("decode", 1, speedup, lambda ours, fp16: fp16.p50_us / ours.p50_us)
    for shape, size in product(SHAPES, (1, 4, 16)):
        yield _ahead_of_peers(rows, shape, size)
    time = f"takes so much of fp16's time, at most {MOST_PREFILL}"
    for size in (1024, 4096):
        yield of_8b("prefill", size, time, lambda ours, fp16: ours.p50_us / fp16.p50_us)
    memory = f"takes so much of fp16's memory, at most {MOST_MEMORY}"
    yield of_8b("decode", 1, memory, lambda ours, fp16: ours.peak_bytes / fp16.peak_bytes)


def _against_fp16(rows, phase, size, words, ratio_of):
    """A bar on ours against fp16, of the 8B shape; `words` end with its number."""
    ours, fp16 = (rows.get(("8B", name, phase, size)) for name in ("ours", "fp16"))
    if ours is None or fp16 is None:
        return None
    ratio, bar = ratio_of(ours, fp16), float(words.rpartition(" ")[2])
    is_reached = ratio >= bar if "at least" in words else ratio <= bar
    return f"8B, {phase} {size}: ours {words}", f"{ratio:.2f}", is_reached


def _ahead_of_peers(rows, shape, size):
    names = dict.fromkeys(row.contender for row in rows.values())
    found = {name: rows.get((shape, name, "decode", size)) for name in names}
    ours = found.pop("ours", None)
    peers = [row for name, row in found.items() if row and name != "fp16"]
    if ours is None or not peers:
        return None
    best = min(peers, key=lambda row: row.p50_us)
    what = f"{shape}, decode {size}: ours is ahead of {len(peers)} peer{'s' * (len(peers) > 1)}"
    came = f"{ours.p50_us:.0f} us, {best.contender} {best.p50_us:.0f}"
    return what, came, ours.p50_us < best.p50_us
