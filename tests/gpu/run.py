"""`make test-gpu`: run all checks that need a GPU, with this python's own torch; installs nothing.

    python tests/gpu/run.py [PART ...]

Parts: kernels, fast, mma, ternary, triton, sanitizer, counters, speed, notebooks; without names all
run.
Writes benchmarks/data/test_gpu_<device>.json, one entry a part.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from itertools import product
from pathlib import Path

GPU_TESTS = Path(__file__).resolve().parent
ROOT = GPU_TESTS.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(GPU_TESTS)]
OWN_PATH = f"{ROOT}:{ROOT}/tests:{GPU_TESTS}:{os.environ.get('PYTHONPATH', '')}"
ENVIRONMENT = dict(os.environ, PYTHONPATH=OWN_PATH)
CORES = len(os.sched_getaffinity(0))
# Of processes that have a core each: more threads would only wait, torch.compile's workers too.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
GPU_BYTES = 8 * 2**30  # that a process of tests may need at times


def test_files(*names):
    return [str(GPU_TESTS / f"test_{name}_on_gpu.py") for name in names]


FAST_TESTS, TERNARY_TESTS = test_files("fast", "fast_calls"), test_files("ternary")
MMA_TESTS = test_files("mma")
TRITON_TESTS = test_files(
    "mixed_mm", "linear", "triton", "triton_builds"
)  # the longest tests first
TIMED_TESTS = test_files("bench")
EDGE_CASES = [sys.executable, str(GPU_TESTS / "edge_cases.py")]
LESSONS = ("notebooks", "solutions")
TOOLS = ("racecheck", "memcheck", "initcheck", "synccheck")  # the slowest first
SHARES = 4  # of the edge cases, for each tool
MOST_SANITIZERS = 8  # at a time: each takes one of 10 ports
MOST_SECONDS = 1200  # that a process may take: one that hangs ends


def kernels():
    """Every CUDA GEMV against the oracle on both runners, and the harness."""
    others = {*TRITON_TESTS, *TERNARY_TESTS, *FAST_TESTS, *MMA_TESTS, *TIMED_TESTS}
    files = {str(path) for path in GPU_TESTS.glob("test_*.py")}
    # What measures has the GPU to itself.
    return added_up([run_shared(*sorted(files - others)), run_pytest(*TIMED_TESTS)])


def fast():
    """The kernels at the memory limit likewise, their errors, and how both runners agree."""
    return run_shared(*FAST_TESTS)


def mma():
    """The product by mma.sync, which needs no Hopper, likewise."""
    return run_shared(*MMA_TESTS)


def ternary():
    """The kernels for ternary weights likewise, the fragments of this GPU, and the layer."""
    return run_shared(*TERNARY_TESTS)


def triton():
    """Every Triton kernel against the oracle, the layers that use them, and every build."""
    return run_shared(*TRITON_TESTS)


def sanitizer():
    """compute-sanitizer's tools over shares of edge_cases.py: {tool: its summary}."""
    run_shares(*EDGE_CASES)  # compiles, so that only launches are watched
    shares = [f"{share}/{SHARES}" for share in range(SHARES)]
    with ThreadPoolExecutor(min(MOST_SANITIZERS, CORES)) as threads:
        found = list(threads.map(lambda job: watched_by(*job), product(TOOLS, shares)))
    tools = {tool: of_shares(found[i * SHARES :][:SHARES]) for i, tool in enumerate(TOOLS)}
    return {"passed": all(tool["passed"] for tool in tools.values()), **tools}


def of_shares(found):
    """What a tool says of all launches: of an error, the first summary that has one."""
    worst = next((one for one in found if not one["passed"]), found[0])
    return worst | {"launches": sum(one["launches"] for one in found)}


def watched_by(tool, share):
    """What one of compute-sanitizer's tools says of one share of the launches."""
    # Without torch's memory pool every tensor has its own allocation, and its own bounds.
    result = run(
        "compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *EDGE_CASES, share,
        environment=ONE_THREAD | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    )  # fmt: skip
    summary = re.search(r"=+ (.*SUMMARY: .*)", result.stdout)
    launches = re.search(r"(\d+) launches", result.stdout)
    clean = result.returncode == 0 and summary and launches
    if not clean:
        print(tool, share, result.stdout[-3000:], result.stderr[-3000:])
    return {
        "passed": bool(clean),
        "summary": summary[1] if summary else "no summary",
        "launches": int(launches[1]) if launches else 0,
    }


def counters():
    """Nsight Compute's counters, kept as data: the simulator is compared with them everywhere."""
    import torch
    from counters import METRICS, ncu_version, record

    run_shares(sys.executable, str(GPU_TESTS / "counters.py"))  # compiles
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
    lax = ["-p", "nbval.plugin", "--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=120"]
    files = [str(path) for path in sorted(ROOT.glob("*/*.ipynb")) if path.parent.name in LESSONS]
    # Nobody guesses in these lessons, and nobody has answered the exercises.
    nobody = {"GEMLITE_EDU_PREDICTIONS": "pass", "GEMLITE_EDU_PIECES": "ours"}
    run_file = partial(run_pytest, *lax, environment={"OMP_NUM_THREADS": "2", **nobody})
    with ThreadPoolExecutor(max(1, CORES // 2)) as threads:
        return added_up(threads.map(run_file, files))


def run_shared(*files, processes=None):
    """Like run_pytest, in several processes, each of which takes the next test: share.py."""
    start = time.monotonic()
    report_failure(run(sys.executable, str(GPU_TESTS / "builds.py"), *files))
    print(f"compiled before the tests: {time.monotonic() - start:.0f} s", flush=True)
    processes = processes or how_many_processes()
    with tempfile.TemporaryDirectory() as begun, ThreadPoolExecutor(processes) as threads:
        environment = ONE_THREAD | {"GEMLITE_EDU_BEGUN": begun}
        run_some = partial(run_pytest, *files, "-p", "share", environment=environment)
        found = added_up(threads.map(lambda _: run_some(), range(processes)))
        ended = sum(found["tests"].values())
        found["passed"] &= ended == len(os.listdir(begun))
    return found


def how_many_processes():
    """As many as have a core each, and room on the GPU."""
    import torch

    room = torch.cuda.get_device_properties(0).total_memory // GPU_BYTES
    return max(1, min(CORES, room))


def run_shares(*command):
    """Run as many processes as there are cores, each with its share as the last argument."""
    with ThreadPoolExecutor(CORES) as threads:
        shares = (f"{share}/{CORES}" for share in range(CORES))
        results = threads.map(lambda share: run(*command, share, environment=ONE_THREAD), shares)
        for result in results:
            report_failure(result)


def added_up(results):
    """One result of several."""
    found = list(results)
    counts = sum((Counter(one["tests"]) for one in found), Counter())
    passed = bool(counts["passed"]) and all(one["passed"] for one in found)
    return {"passed": passed, "tests": dict(counts)}


def run_pytest(*arguments, environment=None):
    """{"passed": whether none failed or was skipped, "tests": {"passed": how many, ...}}."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(ROOT)]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # some of those installed are slow to import
    environment = alone | (environment or {})
    result = run(*pytest, "-p", "no:cacheprovider", *arguments, environment=environment)
    report_failure(result)
    counts = {
        word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped)", result.stdout)
    }
    return {"passed": result.returncode == 0 and "skipped" not in counts, "tests": counts}


def run(*command, environment=None):
    """The ended process; one that was stopped has a return code, too."""
    options = dict(cwd=ROOT, env=ENVIRONMENT | (environment or {}), capture_output=True, text=True)
    try:
        return subprocess.run(command, timeout=MOST_SECONDS, **options)
    except subprocess.TimeoutExpired as stopped:
        told = f"{(stopped.stdout or b'').decode()}\nstopped after {MOST_SECONDS} s"
        return subprocess.CompletedProcess(command, 124, told, "")


def report_failure(result):
    """Print the end of what a process said that failed."""
    if result.returncode:
        print(result.stdout[-6000:], result.stderr[-2000:], flush=True)


PARTS = {
    part.__name__: part
    for part in (kernels, fast, mma, ternary, triton, sanitizer, counters, speed, notebooks)
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
        try:
            entry = PARTS[name]()
        except Exception as error:  # the other parts have nothing to do with it
            traceback.print_exc()
            entry = {"passed": False, "error": repr(error)}
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
