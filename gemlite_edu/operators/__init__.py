"""The kernels as torch sees them, and the rules that choose one."""
