"""What quantizing a model changed, layer by layer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerSummary:
    """One quantized layer: N x K weights, their bytes without the bias, and the relative error
    ||W' - W|| / ||W||."""

    name: str
    shape: tuple[int, int]
    bytes_before: int
    bytes_after: int
    error: float


@dataclass(frozen=True, repr=False)
class QuantizationSummary:
    """The layers that one call of `quantize_` replaced; `print` shows what they add up to.

    earlier: how many layers of the model were quantized before that call; they are not counted.
    elsewhere: how many parameters the model has that no call has quantized, embeddings for example.

    >>> layer = LayerSummary("up", (4096, 4096), 2**25, 2**23 + 2**19, 0.1)
    >>> QuantizationSummary((layer,))
    1 layer of 16,777,216 weights: 33.6 MB before, 8.9 MB after (4.25 bits a weight)
    largest error ||W' - W|| / ||W||: 0.100 in layer "up"
    """

    layers: tuple[LayerSummary, ...]
    earlier: int = 0
    elsewhere: int = 0

    @property
    def bytes_before(self) -> int:
        """Bytes of the weights before."""
        return sum(layer.bytes_before for layer in self.layers)

    @property
    def bytes_after(self) -> int:
        """Bytes of packed codes, scales and zeros, padding included."""
        return sum(layer.bytes_after for layer in self.layers)

    @property
    def worst(self) -> LayerSummary:
        """The `LayerSummary` of the layer with the largest error."""
        return max(self.layers, key=lambda layer: layer.error)

    def __repr__(self) -> str:
        count, weights = len(self.layers), sum(N * K for N, K in (la.shape for la in self.layers))
        before, after = _size(self.bytes_before), _size(self.bytes_after)
        others = f"\n{self.elsewhere:,} parameters elsewhere stay as they were"
        kind = f"{'new ' * bool(self.earlier)}layer{'s' * (count > 1)}"
        return (
            f"{count} {kind} of {weights:,} weights: {before} before, {after} after "
            f"({8 * self.bytes_after / weights:.2f} bits a weight)\n"
            f"largest error ||W' - W|| / ||W||: {self.worst.error:.3f} "
            f'in layer "{self.worst.name}"'
            f"{others * bool(self.elsewhere)}"
        )


def _size(count: int) -> str:
    """A number of bytes in MB, or in kB below 0.1 MB."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"
