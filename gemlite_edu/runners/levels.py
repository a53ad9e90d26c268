"""The levels that a call brings to the text in the hole `prepare_pairs`."""

import torch

from gemlite_edu.kernels.decoders import takes_levels
from gemlite_edu.numbers.checks import aligned, check_dense, check_no_grad, check_together


class CallLevels:
    """Which levels the calls of a kernel take.

    texts: {hole: text} of the kernel. own: the floats of its `PairTable`; None: it has none.
    """

    def __init__(self, texts, own, nbits):
        self.own, self._is_taken, self._nbits = own, takes_levels(texts), nbits
        self._copies = {}

    def of_call(self, given, device):
        """{"levels": the float32 tensor of a call on `device`}; {} if the text takes no levels.

        given: the tensor that the caller passes; None: the kernel's own levels. Raises TypeError or
        ValueError for a tensor that does not fit.
        """
        if not self._is_taken:
            if given is not None:
                raise ValueError(
                    "levels are for a text of prepare_pairs that takes them, as that of pair_table "
                    "does: this kernel has none, so leave levels out"
                )
            return {}
        return {"levels": self._on(device) if given is None else self._checked(given, device)}

    def _on(self, device):
        """The kernel's own levels, copied to a device once: a CUDA graph allows no copy later."""
        if self.own is None:
            raise ValueError(
                "the text for prepare_pairs takes levels: load the kernel with replace="
                "pair_table(levels) itself, or pass levels=, a float32 tensor, to the call"
            )
        if device not in self._copies:
            self._copies[device] = torch.tensor(self.own, dtype=torch.float32, device=device)
        return self._copies[device]

    def _checked(self, levels, device):
        count = len(self.own or ()) or 2**self._nbits
        check_dense("levels", levels, [torch.float32])
        check_no_grad("levels", levels)
        check_together("levels", levels.device, "x", device)
        if tuple(levels.shape) != (count,):
            raise ValueError(f"levels must be ({count},), got {tuple(levels.shape)}")
        return aligned(levels)
