"""Measure whole models: decoding and prefill of Llama shapes with our layers and others'.

`make bench-model` on a GPU. All models have the same made weights, the same fused projections, the
same torch.compile and the same CUDA graphs; only the linear layers differ. The greedy tokens of the
very graph that is timed are compared with dense weights of the same codes.
"""
