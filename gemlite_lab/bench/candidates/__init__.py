"""One file per source of kernels, with a list CANDIDATES. To add a peer, add a file."""
