"""torch.nn.Modules with low-bit weights, and importers for other libraries' layers."""
