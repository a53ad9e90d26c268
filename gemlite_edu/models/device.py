"""The device that a whole model goes to."""

import torch


def checked_device(device: torch.device | str) -> torch.device:
    """`device` as a torch.device that is there: a CPU or a CUDA device; ValueError otherwise."""
    try:
        made = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device must be cpu or cuda, got {device!r:.60}") from error
    if made.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be cpu or cuda, got {device!r:.60}")
    if made.type == "cuda" and (made.index or 0) >= (count := torch.cuda.device_count()):
        raise ValueError(f"device is {made}, and torch sees {count} CUDA devices here: pass 'cpu'")
    return made
