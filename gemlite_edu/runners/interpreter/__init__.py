"""Run Triton kernels on a CPU in Triton's interpreter, with every access checked."""
