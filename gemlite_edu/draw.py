"""Floor 5: pictures of words, requests and banks. Each also prints what it shows, as text."""

import io

from gemlite_edu.packing import WarpInterleaved

_SECTOR_BYTES = 32
_BANKS = 32
_BANK_BYTES = 4
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_PALE = ("#A6D4F2", "#F7D58B")


def word(nbits, col=0):
    """One 32-bit word of row 0 of the warp-interleaved layout, as fields, with the k of each."""
    layout = WarpInterleaved(nbits)
    fields = sorted(
        (layout.locate(0, k).shift, k)
        for k in range(layout.tile * (col // 32), layout.tile * (col // 32 + 1))
        if layout.locate(0, k).col == col
    )[::-1]
    print(f"word {col}, {nbits}-bit: {len(fields)} codes, {layout.idle_bits} idle bits")
    print("bits  " + " ".join(f"{f'{s + nbits - 1}-{s}':>6}" for s, _ in fields))
    print("k     " + " ".join(f"{k:>6}" for _, k in fields))

    figure, axes = _canvas(10, 1.5)
    for i, (shift, k) in enumerate(fields):
        _box(axes, 32 - shift - nbits, 0, nbits, _PALE[i % 2], f"k={k}" if nbits > 2 else f"{k}")
    if layout.idle_bits:
        _box(axes, 32 - layout.idle_bits, 0, layout.idle_bits, "#DDDDDD", "idle")
    axes.set(xlim=(0, 32), ylim=(0, 1), yticks=[], title=f"word {col}: bit 31 left, bit 0 right")
    axes.set_xticks(range(0, 33, 4), [str(32 - bit) for bit in range(0, 33, 4)])
    _show(figure, f"The {len(fields)} fields of word {col}, most significant first")


def warp_words(nbits, rows=2, words=6):
    """Which codes W_q[n, k] the first `words` words of each row hold, over the (n, k) plane."""
    if not 1 <= words <= len(_COLORS):
        raise ValueError(f"words must be from 1 to {len(_COLORS)}, got {words}")
    layout = WarpInterleaved(nbits)
    figure, axes = _canvas(10, 0.9 + 0.45 * rows)
    for n in range(rows):
        for k in range(layout.tile):
            col = layout.locate(n, k).col
            _box(axes, k, n, 1, _COLORS[col] if col < words else "#EEEEEE", "")
    for col in range(words):
        held = [k for k in range(layout.tile) if layout.locate(0, k).col == col]
        print(f"word {col} of a row: k = {', '.join(map(str, held))}")
    axes.set(xlim=(0, layout.tile), ylim=(rows, 0), xlabel="k", ylabel="n")
    axes.set_yticks([n + 0.5 for n in range(rows)], range(rows))
    axes.set_xticks(range(0, layout.tile + 1, 32))
    axes.set_title(f"{nbits}-bit: where the codes of words 0 to {words - 1} come from")
    _show(figure, f"Words 0 to {words - 1} take every 32nd code of a row")


def sectors(addresses, bytes_each):
    """The 32-byte sectors that a warp's request touches; returns how many.

    addresses: byte address of each active lane. Model: distinct 32-byte blocks among all bytes.
    """
    asked = {byte for a in addresses for byte in range(a, a + bytes_each)}
    numbers = sorted({byte // _SECTOR_BYTES for byte in asked})
    print(
        f"{len(addresses)} lanes ask for {len(asked)} bytes: {len(numbers)} sectors, "
        f"{len(numbers) * _SECTOR_BYTES} bytes moved"
    )

    start, end = numbers[0] * _SECTOR_BYTES, (numbers[-1] + 1) * _SECTOR_BYTES
    scale = (len(addresses) - 1) / (end - start)
    figure, axes = _canvas(10, 2.4)
    for sector in numbers:
        left, width = (sector * _SECTOR_BYTES - start) * scale, _SECTOR_BYTES * scale
        axes.add_patch(_rectangle(left, -0.15, width, 0.15, "#E69F00"))
    for lane, address in enumerate(addresses):
        middle = (address + bytes_each / 2 - start) * scale
        axes.plot([lane, middle], [1, 0], color="#0072B2", linewidth=0.8)
    axes.plot(range(len(addresses)), [1] * len(addresses), "o", color="#0072B2")
    axes.set(ylim=(-0.3, 1.25), xlabel="lane", title=f"{len(numbers)} sectors of 32 bytes")
    axes.set_yticks([-0.08, 1], [f"bytes {start} to {end}", "lanes"])
    _show(figure, f"Lines from {len(addresses)} lanes to the {len(numbers)} sectors they read")
    return len(numbers)


def banks(addresses, bytes_each):
    """The shared-memory banks that a warp's request meets; returns its wavefronts.

    addresses: byte address of each lane; bytes_each: at most 4. Model: bank = word % 32, equal
    words are broadcast, and the fullest bank needs one wavefront for each of its distinct words.
    """
    if bytes_each > _BANK_BYTES:
        raise ValueError(f"bytes_each must be at most 4, got {bytes_each}")
    words = {address // _BANK_BYTES for address in addresses}
    counts = [sum(word % _BANKS == bank for word in words) for bank in range(_BANKS)]
    print(f"distinct words per bank: {counts}")
    wavefronts = f"{max(counts)} wavefront" + "s" * (max(counts) != 1)
    print(wavefronts)

    figure, axes = _canvas(10, 1.8)
    axes.bar(range(_BANKS), counts, color="#0072B2")
    axes.set(xlabel="bank", ylabel="words", title=wavefronts)
    axes.set_ylim(0, max(2, max(counts)) * 1.1)
    _show(figure, f"Distinct words in each of 32 banks; the fullest has {max(counts)}")
    return max(counts)


def histogram(series, xlabel, title):
    """Overlaid histograms of {label: 1-D tensor}, with each one's range and spread as text."""
    figure, axes = _canvas(10, 3)
    for (label, values), color in zip(series.items(), _COLORS, strict=False):
        values = values.double().flatten()
        print(
            f"{label}: min {values.min():.3g}, max {values.max():.3g}, "
            f"standard deviation {values.std():.3g}"
        )
        axes.hist(values.numpy(), bins=101, histtype="step", color=color, label=label)
    axes.set(xlabel=xlabel, ylabel="count", yscale="log", title=title)
    axes.legend()
    _show(figure, f"{title}: histograms of {', '.join(series)}")


def curves(x, series, xlabel, ylabel, title):
    """Lines over `x`, {label: values}, on a logarithmic y axis, with the values as text."""
    markers = "osD^vP"
    figure, axes = _canvas(8, 3)
    print(f"{xlabel:>24} " + " ".join(f"{value:>9g}" for value in x))
    for i, (label, values) in enumerate(series.items()):
        print(f"{label:>24} " + " ".join(f"{value:>9.3g}" for value in values))
        axes.plot(x, values, color=_COLORS[i], marker=markers[i], label=label)
    axes.set(xlabel=xlabel, ylabel=ylabel, yscale="log", title=title)
    axes.legend()
    _show(figure, f"{title}: {ylabel} over {xlabel} for {', '.join(series)}")


def _canvas(width, height):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=80, layout="constrained")
    return figure, figure.add_subplot()


def _rectangle(x, y, width, height, color):
    from matplotlib.patches import Rectangle

    return Rectangle(
        (x, y), width, height, facecolor=color, edgecolor="white" if width > 1 else color
    )


def _box(axes, x, y, width, color, label):
    axes.add_patch(_rectangle(x, y, width, 1, color))
    if label:
        axes.text(x + width / 2, y + 0.5, label, ha="center", va="center", fontsize=8)


def _show(figure, alternative_text):
    from IPython.display import Image, display

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    display(Image(buffer.getvalue(), alt=alternative_text))
