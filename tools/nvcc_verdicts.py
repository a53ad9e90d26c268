"""Ask nvcc anew about each text of tests/kernels/cuda_probes.json.

Prints the verdicts that changed. It takes about two minutes of processor time.
"""

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from cuda_probes import LAUNCH, answer_of, kernel_of, probes, save

from gemlite_edu.runners import cuda

_WORDS = 90  # characters of an error that are kept


def verdict(probe, folder, number):
    """The first error of nvcc about a probe, "" if it compiles."""
    source = Path(folder) / f"{number}.cu"
    source.write_text(kernel_of(answer_of(probe)), encoding="utf-8")
    macros = [f"-D{name}={value}" for name, value in LAUNCH.defines.items()]
    flags = ["-cubin", "-std=c++17", cuda.architecture_flag((9, 0)), *macros]
    command = [cuda.find_nvcc(), *flags, source, "-o", source.with_suffix(".cubin")]
    result = subprocess.run(command, capture_output=True, text=True)
    if not result.returncode:
        return ""
    found = re.search(r"(?:error|fatal)\b[^:\n]*:\s*(.*)", result.stderr)
    return re.sub(r"\s+", " ", found[1] if found else "refused").strip()[:_WORDS]


def main():
    """Compare all verdicts and save them."""
    every = probes()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as threads:
        said = threads.map(verdict, every.values(), [folder] * len(every), range(len(every)))
        for (name, probe), now in zip(every.items(), said, strict=True):
            if bool(now) != bool(probe["nvcc"]):
                print(f"{name}: nvcc said {probe['nvcc'] or 'yes'!r}, and says {now or 'yes'!r}")
            probe["nvcc"] = now
    save(every)


if __name__ == "__main__":
    main()
