"""The texts of the kernels, and how the host launches them."""
