import torch

# `make test` runs without a GPU; `make test-gpu` refuses to.
collect_ignore_glob = [] if torch.cuda.is_available() else ["*"]
