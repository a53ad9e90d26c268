"""All that only a GPU can show, with this python's own torch; installs nothing. `make test-gpu`.

    python tests/gpu/run.py [PART ...]

Parts: kernels, fast, ternary, triton, sanitizer, counters, speed, notebooks; without names all run.
Writes benchmarks/data/test_gpu_<device>.json, one entry a part.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]
OWN_PATH = f"{ROOT}:{ROOT}/tests:{os.environ.get('PYTHONPATH', '')}"
ENVIRONMENT = dict(os.environ, PYTHONPATH=OWN_PATH)
TRITON_TESTS = tuple(
    f"tests/gpu/test_{name}_on_gpu.py" for name in ("triton", "linear", "mixed_mm")
)
TERNARY_TESTS = "tests/gpu/test_ternary_on_gpu.py"
FAST_TESTS = tuple(f"tests/gpu/test_{name}_on_gpu.py" for name in ("fast", "fast_calls"))
EDGE_CASES = [sys.executable, "tests/gpu/edge_cases.py"]
LESSONS = ("notebooks", "solutions")
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SHARDS = 4  # processes that share out tests: most of the time goes to the oracle, on the CPU


def kernels():
    """Every CUDA GEMV against the oracle on both runners, and the harness."""
    others = (f"--ignore={name}" for name in (*TRITON_TESTS, TERNARY_TESTS, *FAST_TESTS))
    return run_pytest("tests/gpu", *others, "-p", "no:cacheprovider")


def fast():
    """The kernels at the memory limit likewise, their errors, and how both runners agree."""
    return run_shards(*FAST_TESTS, "-p", "no:cacheprovider")


def ternary():
    """The kernels for ternary weights likewise, the fragments of this GPU, and the layer."""
    return run_pytest(TERNARY_TESTS, "-p", "no:cacheprovider")


def triton():
    """Every Triton kernel against the oracle, and the layers that use them: a file a process."""
    with ThreadPoolExecutor() as threads:
        run_file = partial(run_pytest, "-p", "no:cacheprovider")
        return added_up(threads.map(run_file, TRITON_TESTS))


def sanitizer():
    """compute-sanitizer's tools over edge_cases.py, side by side: {tool: its summary}."""
    # Once without a tool: it compiles, so that only launches are watched.
    subprocess.run(EDGE_CASES, cwd=ROOT, env=ENVIRONMENT, check=True)
    with ThreadPoolExecutor() as threads:
        found = dict(zip(TOOLS, threads.map(watched_by, TOOLS), strict=True))
    return {"passed": all(tool["passed"] for tool in found.values()), **found}


def watched_by(tool):
    """What one of compute-sanitizer's tools says."""
    # Without torch's memory pool every tensor has its own allocation, and its own bounds.
    output = subprocess.run(
        ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *EDGE_CASES],
        cwd=ROOT,
        env=ENVIRONMENT | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        capture_output=True,
        text=True,
    )
    summary = re.search(r"=+ (.*SUMMARY: .*)", output.stdout)
    launches = re.search(r"(\d+) launches", output.stdout)
    clean = output.returncode == 0 and summary and launches
    if not clean:
        print(output.stdout[-3000:], output.stderr[-3000:])
    return {
        "passed": bool(clean),
        "summary": summary[1] if summary else "no summary",
        "launches": int(launches[1]) if launches else 0,
    }


def counters():
    """Nsight Compute's counters, kept as data: the simulator is compared with them everywhere."""
    import torch
    from counters import METRICS, ncu_version, record

    found = record(ROOT, ENVIRONMENT)
    path = ROOT / "gemlite_edu" / "data" / f"nsight_{device_name()}.json"
    device = torch.cuda.get_device_name()
    about = {"device": device, "date": str(date.today()), "ncu": ncu_version(), "metrics": METRICS}
    path.write_text(json.dumps(about | {"kernels": found}, indent=1) + "\n")
    return {"passed": True, "kernels": len(found)}


def speed():
    """The learner's loop: seconds from a changed hole to an answer."""
    from gemlite_lab.bench.loop import figures

    return {"passed": True, **{name: round(value, 3) for name, value in figures().items()}}


def notebooks():
    """The notebooks here, for errors only, since timings and devices differ: a file a process."""
    missing = [name for name in ("nbval", "ipykernel") if not importlib.util.find_spec(name)]
    if missing:
        return {"passed": None, "not run": f"{' and '.join(missing)} not installed"}
    lax = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=120"]
    files = [str(path) for path in sorted(ROOT.glob("*/*.ipynb")) if path.parent.name in LESSONS]
    with ThreadPoolExecutor(SHARDS) as threads:
        return added_up(threads.map(partial(run_pytest, *lax, "-p", "no:cacheprovider"), files))


def run_shards(*arguments):
    """Like run_pytest, in several processes: conftest.py takes a part of the tests in each."""
    threads_of_each = str(max(1, os.cpu_count() // SHARDS))
    run_shard = partial(run_pytest, *arguments)
    environments = [
        {"GEMLITE_EDU_SHARD": f"{shard}/{SHARDS}", "OMP_NUM_THREADS": threads_of_each}
        for shard in range(SHARDS)
    ]
    with ThreadPoolExecutor() as threads:
        return added_up(threads.map(lambda more: run_shard(environment=more), environments))


def added_up(results):
    """One result of several."""
    found = list(results)
    counts = sum((Counter(one["tests"]) for one in found), Counter())
    passed = bool(found) and all(one["passed"] for one in found)
    return {"passed": passed, "tests": dict(counts)}


def run_pytest(*arguments, environment=None):
    """{"passed": whether all ran and passed, "tests": {"passed": how many, ...}}."""
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            os.devnull,
            "--rootdir",
            str(ROOT),
            *arguments,
        ],
        cwd=ROOT,
        env=ENVIRONMENT | (environment or {}),
        capture_output=True,
        text=True,
    )
    if result.returncode:
        print(result.stdout[-6000:], result.stderr[-2000:])
    counts = {
        word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped)", result.stdout)
    }
    all_ran = bool(counts.get("passed")) and "skipped" not in counts
    return {"passed": result.returncode == 0 and all_ran, "tests": counts}


PARTS = {
    part.__name__: part
    for part in (kernels, fast, ternary, triton, sanitizer, counters, speed, notebooks)
}


def device_name():
    """The GPU's name, as in a file's name."""
    import torch

    return re.sub(r"\W+", "_", torch.cuda.get_device_name()).lower()


def report_path():
    return ROOT / "benchmarks" / "data" / f"test_gpu_{device_name()}.json"


def main(names):
    import torch

    from gemlite_edu.runners import info

    if not torch.cuda.is_available():
        sys.exit("make test-gpu needs a CUDA GPU that torch can see; make test runs without one")

    path = report_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    report = json.loads(path.read_text()) if path.exists() else {}
    report["machine"] = dict(
        line.split(": ", 1)
        for line in info.report().splitlines()
        if not line.startswith("kernel cache")
    )
    for name in names or PARTS:
        start = time.monotonic()
        entry = PARTS[name]()
        report[name] = {
            "date": str(date.today()),
            "seconds": round(time.monotonic() - start),
            **entry,
        }
        print(name, json.dumps(report[name]), flush=True)
        path.write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(any(report[name]["passed"] is False for name in names or PARTS))


if __name__ == "__main__":
    main(sys.argv[1:])
