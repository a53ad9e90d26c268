"""The runners, which compile and run the kernels' source texts on a GPU or a CPU."""
