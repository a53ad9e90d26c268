"""Memory counters of Nsight Compute for every kernel of counter_kernels.py.

`run.py counters` runs this file under ncu, which counts the launches, and reads ncu's table; before
that it compiles them in several processes: `counters.py I/N` launches each Nth from the Ith on.
"""

import csv
import io
import subprocess
import sys

METRICS = {
    "global loads": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global stores": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global store sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared loads": "smsp__inst_executed_op_shared_ld.sum",
    "shared load wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared stores": "smsp__inst_executed_op_shared_st.sum",
    "shared store wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}


def record(root, environment):
    """{kernel: {counter: value}} and ncu's version. RuntimeError where ncu fails."""
    from counter_kernels import COUNTER_KERNELS

    command = [sys.executable, __file__]
    launches = count_launches(command, METRICS, cwd=root, env=environment)
    if len(launches) != len(COUNTER_KERNELS):
        raise RuntimeError(f"ncu saw {len(launches)} launches of {len(COUNTER_KERNELS)} kernels")
    return dict(zip(COUNTER_KERNELS, launches, strict=True))


def count_launches(command, metrics, **options):
    """[{counter: value}] of each launch of our kernels by `command`, in order.

    metrics: {counter: metric of ncu}; options: of subprocess.run. RuntimeError where ncu fails.
    """
    result = subprocess.run(
        [
            *("ncu", "--csv", "--print-units", "base", "--clock-control", "none"),
            *("--kernel-name", "regex:^(kernel|gemv)$", "--metrics", ",".join(metrics.values())),
            *command,
        ],
        capture_output=True,
        text=True,
        **options,
    )
    table = result.stdout[result.stdout.find('"ID"') :]
    if result.returncode or not table.startswith('"ID"'):
        raise RuntimeError(f"ncu failed:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    launches = {}
    for row in csv.DictReader(io.StringIO(table)):
        value = float(row["Metric Value"].replace(",", ""))
        launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = int(value)
    return [
        {counter: launches[number][metric] for counter, metric in metrics.items()}
        for number in sorted(launches)
    ]


def ncu_version():
    result = subprocess.run(["ncu", "--version"], capture_output=True, text=True)
    return result.stdout.strip().splitlines()[-1]


def main(share="0/1"):
    import torch
    from counter_kernels import COUNTER_KERNELS

    first, step = map(int, share.split("/"))
    for kernel in list(COUNTER_KERNELS.values())[first::step]:
        kernel.launch_on_gpu()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(*sys.argv[1:])
