"""Floor 5: measuring kernels, ours and others', by one method: `make bench`.

The method: weights rotate over copies that are, each with its y, more than four times the L2,
launches go through a CUDA graph, results are compared with fp64 on the timed inputs, and what
cannot be true is refused.
"""
