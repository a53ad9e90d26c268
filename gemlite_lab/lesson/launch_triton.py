"""`launch_triton`: run a small Triton kernel of your own in Triton's interpreter."""

import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners.triton import interpreted, launch


def launch_triton(kernel, grid, *arguments, **constants):
    """Run `kernel` once for each program of `grid`, on CPU tensors, with every access checked.

    kernel: a function under @triton.jit. grid: a tuple of 1 to 3 ints, the programs along each
    axis. arguments: a CPU tensor for each pointer and a number for each other argument, in order.
    constants: the tl.constexpr arguments, by name. Prints the first fault that the interpreter
    finds; the tensors keep what was stored before it.
    """
    if not (isinstance(grid, tuple) and all(isinstance(count, int) for count in grid)):
        raise TypeError(f"grid must be a tuple of ints, such as (3,) or (3, 2), got {grid!r}")
    for argument in arguments:
        if isinstance(argument, torch.Tensor) and argument.device.type != "cpu":
            raise ValueError(
                f"launch_triton runs on CPU tensors, got one on {argument.device}: "
                "there, launch the kernel itself, as kernel[grid](...)"
            )
    try:
        launch(interpreted(kernel), True, grid, *arguments, watched=True, **constants)
    except KernelFault as fault:
        print(fault)
