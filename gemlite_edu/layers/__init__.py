"""torch.nn.Modules on low-bit weights, and importers of other libraries' layers."""
