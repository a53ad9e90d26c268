"""The kernels' source texts, and the host code that plans their launches."""
