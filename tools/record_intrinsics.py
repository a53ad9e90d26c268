"""Record what CUDA's functions of numbers give on this GPU, to compare the simulator with.

python tools/record_intrinsics.py [RAW] (writes tests/recorded_intrinsics.json; a minute)

RAW: also keep all results in this file of torch's, to see where the simulator differs.
"""

import json
import sys
from datetime import date
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import intrinsic_functions

from gemlite_edu.kernels.plan import Launch
from gemlite_edu.runners import cuda

RECORDED = Path(intrinsic_functions.__file__).with_name("recorded_intrinsics.json")


def main():
    if not torch.cuda.is_available():
        sys.exit("recording needs a CUDA GPU that torch sees")
    capability = torch.cuda.get_device_capability()
    library = cuda.build_kernel(intrinsic_functions.text(), "kernel", {}, capability)
    every = run(library, intrinsic_functions.every_operand(), len(intrinsic_functions.EXHAUSTIVE))
    chosen = run(library, intrinsic_functions.chosen_operands(), len(intrinsic_functions.FUNCTIONS))
    if sys.argv[1:]:
        torch.save({"every": every, "chosen": chosen}, sys.argv[1])
    about = {"device": torch.cuda.get_device_name(), "date": str(date.today())}
    functions = intrinsic_functions.record(every, chosen)
    RECORDED.write_text(json.dumps(about | {"functions": functions}, indent=0) + "\n")
    print(f"recorded {len(functions)} functions in {RECORDED}")


def run(library, operands, functions):
    """The results of the first functions of the text, (functions, count of operands)."""
    count = operands.shape[-1]
    out = torch.zeros(functions, count, dtype=torch.int64, device="cuda")
    inputs = operands.cuda()
    launch = Launch(grid=(4, functions), threads=256, integers=(count,))
    device = torch.device("cuda", torch.cuda.current_device())
    cuda.ReadyLaunch(library, launch, device)((inputs.data_ptr(), out.data_ptr()))
    torch.cuda.synchronize()
    return out.cpu()


if __name__ == "__main__":
    main()
