"""The two texts of the product for batches, run one after the other."""

import torch

from gemlite_edu.numbers.checks import aligned, pointers_of
from gemlite_edu.runners.kernel_text import KernelText

_ARRANGE = "arrange"


class BatchText:
    """The text `name` with the learner's `replace`, and those that arrange x for it.

    What a launch needs beside the tensors is a `BatchPlan`. Otherwise like `KernelText`.
    """

    def __init__(self, name, entry, replace, time_limit):
        self._product = KernelText(name, entry, replace, time_limit)
        self._arrange = {
            way: KernelText(f"arrange_for_{way}", _ARRANGE, None, time_limit)
            for way in ("mma", "wgmma")
        }
        self.source, self.replace = self._product.source, self._product.replace

    def run(self, plan, tensors, out):
        """Launch both with `tensors` {name: tensor or None}, the first x; write y into `out`."""
        if out.is_cuda:
            y = aligned(out)  # y is written in pieces
            self.ready(plan, out.device)(pointers_of((*tensors.values(), y)))
            if y is not out:
                out.copy_(y)
        else:
            self._product.run(plan.product, self._with_image(plan, tensors), out)

    def ready(self, plan, device):
        """Both launches on a GPU, called with `pointers_of` the tensors, x first and y last."""
        arrange = self._arrange[plan.way].ready(plan.arrange, device)
        launch = self._product.ready(plan.product, device, behind=arrange)
        empty = torch.empty(0, dtype=torch.float16, device=device)

        def launch_both(pointers):
            x, *others = pointers
            image = empty.new_empty(plan.image_halves)
            launch((x, image.data_ptr(), *others))

        return launch_both

    def inspect(self, plan, tensors, y, title, recorded):
        """A `Report` of the second launch in the simulator under instruments; it writes to `y`."""
        image = self._with_image(plan, tensors)
        return self._product.inspect(plan.product, image, y, title, recorded)

    def build_for_simulator(self, plan):
        """Path of the simulator's library of the product; both are compiled."""
        self._arrange[plan.way].build_for_simulator(plan.arrange)
        return self._product.build_for_simulator(plan.product)

    def build_for_gpu(self, plan, device):
        """The loaded library of the product for a GPU; both are compiled."""
        self._arrange[plan.way].build_for_gpu(plan.arrange, device)
        return self._product.build_for_gpu(plan.product, device)

    def _with_image(self, plan, tensors):
        """The tensors of the second launch."""
        x, *_ = tensors.values()
        image = x.new_empty(plan.image_halves)
        self._arrange[plan.way].run(plan.arrange, {"x": x}, image)
        return {"x_image": image} | {name: t for name, t in tensors.items() if name != "x"}
