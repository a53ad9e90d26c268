"""Histograms and curves of numbers."""

from gemlite_lab.draw.canvas import SERIES, canvas, display_png


def histogram(series, xlabel, title):
    """Overlaid histograms of {label: 1-D tensor}; prints the range and spread of each."""
    figure, axes = canvas(10, 3)
    for (label, values), color in zip(series.items(), SERIES, strict=False):
        values = values.double().flatten()
        print(
            f"{label}: min {values.min():.3g}, max {values.max():.3g}, "
            f"standard deviation {values.std():.3g}"
        )
        axes.hist(values.numpy(), bins=101, histtype="step", color=color, label=label)
    axes.set(xlabel=xlabel, ylabel="count", yscale="log", title=title)
    axes.legend()
    display_png(figure, f"{title}: histograms of {', '.join(series)}")


def curves(x, series, xlabel, ylabel, title):
    """Lines over `x`, {label: values}, on a logarithmic y axis; prints the values."""
    markers = "osD^vP"
    figure, axes = canvas(8, 3)
    print(f"{xlabel:>24} " + " ".join(f"{value:>9g}" for value in x))
    for i, (label, values) in enumerate(series.items()):
        print(f"{label:>24} " + " ".join(f"{value:>9.3g}" for value in values))
        axes.plot(x, values, color=SERIES[i], marker=markers[i], label=label)
    axes.set(xlabel=xlabel, ylabel=ylabel, yscale="log", title=title)
    axes.legend()
    display_png(figure, f"{title}: {ylabel} over {xlabel} for {', '.join(series)}")
