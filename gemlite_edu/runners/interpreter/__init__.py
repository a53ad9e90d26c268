"""Triton's interpreter: Triton kernels on a CPU, with every access checked."""
