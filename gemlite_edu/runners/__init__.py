"""What compiles and runs the kernels' texts, on a GPU and on a CPU."""
