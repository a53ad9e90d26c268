"""The documents' code runs, their links lead somewhere, and their numbers are in the reports."""

import csv
import json
import linecache
import re
import statistics
import sys
from pathlib import Path

import pytest
import torch
from counter_kernels import DIFFERENT

import gemlite_edu
from gemlite_edu import NF4, quantize_to_format
from gemlite_edu.numbers import bounds, reference
from gemlite_edu.runners import nsight
from gemlite_lab.bench import measurements
from gemlite_lab.bench.model.rows import recorded_steps
from gemlite_lab.lesson.real_layer import LAYERS, real_layer

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
sys.path.insert(0, str(ROOT / "tools"))

import benchmark_table  # noqa: E402
import count_bytes  # noqa: E402
import links  # noqa: E402
import model_chart  # noqa: E402
import model_table  # noqa: E402
import readme_chart  # noqa: E402
from counter_table import PAGE, page_with_table  # noqa: E402


def run_code_of(page):
    """The names that the Python blocks of a page leave behind."""
    namespace = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    for number, block in enumerate(blocks):
        where = f"{page}, block {number}"  # Triton looks up the lines of a function
        linecache.cache[where] = len(block), None, block.splitlines(keepends=True), where
        exec(compile(block, where, "exec"), namespace)
    return namespace


def test_the_code_in_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = run_code_of("README.md")
    x, y = namespace["x"], namespace["y"]
    W = quantize_to_format(namespace["linear"].weight, NF4).dequantize(torch.float64)
    right = reference.matmul(x, W) + namespace["linear"].bias.double()
    assert ((y - right).abs() <= 1e-3 * right.abs().max()).all()
    x = torch.randn(3, 512)
    assert torch.equal(namespace["model"](x), namespace["again"](x))


def test_the_code_on_the_page_of_kernels_runs():
    namespace = run_code_of("docs/kernels.md")
    assert namespace["y"].shape == (1, 4096)
    x, y, W = namespace["x"], namespace["y"], namespace["q"].dequantize(torch.float64)
    assert ((y - reference.matmul(x, W)).abs() <= bounds.error_bound(x, W, y.dtype)).all()
    x, signed = torch.randn(2, 256).half(), namespace["signed"]
    right = reference.matmul(x, signed.dequantize(torch.float64))
    assert reference.relative_error(namespace["compiled"](x), right) < 1e-3


def test_the_page_on_your_own_quantizer_prints_what_it_says(capsys):
    page = (ROOT / "docs" / "your_own_quantizer.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, re.DOTALL)
    assert sum(bool(printed) for _, printed in blocks) >= 7
    namespace = {}
    for code, printed in blocks:
        exec(code, namespace)
        assert capsys.readouterr().out == printed


def test_the_layer_of_that_page_is_there_without_the_workbook(monkeypatch):
    page = (ROOT / "docs" / "your_own_quantizer.md").read_text()
    monkeypatch.chdir(ROOT / "gemlite_lab" / "data")
    namespace = {}
    exec(re.search(r"```py\n(.*?)```", page, re.DOTALL)[1], namespace)
    for name in LAYERS:
        for ours, theirs in zip(namespace["real_layer"](name), real_layer(name), strict=True):
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_every_link_leads_somewhere(path):
    assert links.problems_of_pages([path]) == []


def test_the_table_of_counters_is_that_of_the_record():
    assert PAGE.read_text() == page_with_table(PAGE.read_text()), "run tools/counter_table.py"


def test_the_table_of_performance_is_that_of_the_measurements():
    text = benchmark_table.PAGE.read_text()
    assert text == benchmark_table.page_with_table(text), "run tools/benchmark_table.py"


def test_the_tables_of_whole_models_are_those_of_the_measurements():
    text = model_table.PAGE.read_text()
    assert text == model_table.page_with_tables(text), "run tools/model_table.py"


def test_the_bytes_read_are_those_counted_and_nothing_is_padded():
    text = count_bytes.PAGE.read_text()
    assert text == count_bytes.page_with_table(text), "run tools/count_bytes.py table"
    rows = json.loads(count_bytes.path_of("NVIDIA H200").read_text())["rows"]
    assert {row["nbits"] for row in rows} == set(range(1, 9))
    for row in rows:
        least = count_bytes.least_bytes(row["nbits"], row["N"], row["K"])
        assert least <= row["bytes from memory"] <= 1.03 * least


def test_the_chart_is_that_of_the_measurements():
    assert readme_chart.PATH.read_text() == readme_chart.chart(), "run tools/readme_chart.py"
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    times, _ = readme_chart.speedups(rows)
    said = re.search(r"!\[(.*?)\]", (ROOT / "README.md").read_text())[1]
    of_model, of_row = said.split("; ")
    for kernel, name in readme_chart.KERNELS.items():
        words = f"{name.split()[0]} {min(times[kernel]):.1f} to {max(times[kernel]):.1f}"
        assert words in of_row
    models = recorded_steps("NVIDIA H200")
    for name, times in model_chart.speedups(models, "8B")[0].items():
        shown = sorted({f"{one:.1f}" for one in times if one})
        words = " to ".join(dict.fromkeys((shown[0], shown[-1])))
        assert f"{model_chart.NAMES[name].split()[0]} {words}" in of_model


def test_the_release_has_one_version_and_one_date():
    version, date = re.search(
        r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    ).groups()
    citation = (ROOT / "CITATION.cff").read_text()
    assert version == gemlite_edu.__version__
    assert f"\nversion: {version}\ndate-released: {date}\n" in citation


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_page_counts_the_kernels_that_nsight_compute_counted():
    total, page = len(nsight.recorded()["kernels"]), (ROOT / "docs/kernels.md").read_text()
    assert f"**{total - len(DIFFERENT)} of {total} kernels**" in page


def test_notation_has_every_name_of_the_kernels():
    notation = (ROOT / "NOTATION.md").read_text()
    for name in ("W_NBITS", "PACK_FACTOR", "CODE_MASK", "TILE", "X_T", "lane_id", "WARP_SIZE"):
        assert name in notation


def test_the_page_says_what_the_report_of_the_h200_says():
    page = (ROOT / "docs/measured.md").read_text()
    report = json.loads((ROOT / "benchmarks/data/test_gpu_nvidia_h200.json").read_text())
    speed, launches = report["speed"], report["sanitizer"]["memcheck"]["launches"]
    for row, where in (("| simulator, 16 cores", "simulator"), ("| NVIDIA H200, CUDA", "GPU")):
        line = next(line for line in page.splitlines() if line.startswith(row))
        assert f"| {speed[f'{where}: changed hole to answer']:.1f} s |" in line
        assert speed[f"{where}: unchanged kernel, new process"] < 0.01
    assert f"{launches} launches" in page
    assert f"{report['kernels']['tests']['passed']} tests passed" in " ".join(page.split())
    prose = " ".join(page.split())
    assert f"fragment included ({report['ternary']['tests']['passed']} tests)" in prose
    assert f"transposed ({report['triton']['tests']['passed']} tests)" in prose
    assert f"names end in fast ({report['fast']['tests']['passed']} tests)" in prose
    assert f"without an error ({report['notebooks']['tests']['passed']} cells)" in prose
    parts = ("kernels", "fast", "ternary", "triton", "sanitizer", "notebooks")
    assert all(report[part]["passed"] for part in parts)
    days = {report[part]["date"] for part in parts}
    said = re.search(r"All that ran on ([^;]+);", prose)[1]
    assert days == set(re.findall(r"\d{4}-\d\d-\d\d", said))


def test_the_costs_of_a_call_are_those_of_the_record():
    record = json.loads((ROOT / "benchmarks/data/call_overhead_nvidia_h200.json").read_text())
    totals = {
        int(M): [part["total_us"] for part in row["parts"].values()]
        for M, row in record["rows"].items()
    }
    prose = " ".join((ROOT / "docs/measured.md").read_text().split())
    (launch, *_, one), (launches, *_, two), (*_, dense) = totals.values()
    assert max(one - launch, two - launches) < 15
    assert f"{one:.1f} µs at 4096 x 4096 and M = 1, {launch:.1f} of them the launch" in prose
    assert f"{two:.1f} µs at M = 16, where" in prose
    assert f"launches twice, {launches:.1f} of them the launches" in prose
    assert f"and {dense:.1f} µs at 3072 x 8192 and M = {max(totals)}, where it dequantizes" in prose
    share = record["rows"][str(max(totals))]["parts"]["dequantizing"]["own_us"] / dense
    assert "which is two fifths of it" in prose and 0.35 < share < 0.45


def test_the_times_of_the_ternary_kernels_are_those_of_the_record():
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    us = {(r.kernel, r.M, r.N, r.K): r.p50_us for r in rows}
    path = ROOT / "benchmarks/data/recorded_bitnet_nvidia_h200.csv"
    recorded = {(int(r["N"]), int(r["K"])): float(r["us"]) for r in csv.DictReader(path.open())}
    gemv = {shape: us["gemv_a8w2_dp4a", 1, *shape] for shape in recorded}
    assert all(gemv[shape] < recorded[shape] for shape in recorded)

    def at(M):
        kernels = ("gemm_a8w2_wmma", "cublas_bf16", "int_mm")
        return [f"{us[kernel, M, 4096, 4096]:.1f}" for kernel in kernels]

    prose = " ".join((ROOT / "docs/kernels.md").read_text().split())
    few, some, many = at(32), at(128), at(4096)
    for sentence in (
        f"the GEMV took {min(gemv.values()):.1f} to {max(gemv.values()):.1f} µs, where BitNet's "
        f"own kernel had taken {min(recorded.values())} to {max(recorded.values())}",
        f"`gemm_a8w2_wmma` took {few[0]} µs for 32 tokens at 4096 x 4096, cuBLAS {few[1]} in bf16, "
        f"`torch._int_mm` on unpacked int8 {few[2]}; for 128 tokens {some[0]} against {some[1]} "
        f"and {some[2]}, and for 4096 tokens {many[0]} against {many[1]} and {many[2]}",
    ):
        assert sentence in prose


def test_the_times_of_the_layers_are_those_of_the_record():
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    us = {
        (r.kernel, r.M, r.transposed): f"{r.p50_us:.0f}"
        for r in rows
        if r.N == r.K == 8192 and r.weights in ("W4 g128", "W16")
    }

    def both_ways(kernel, M):
        return " and ".join(us[kernel, M, transposed] for transposed in (False, True))

    prose = " ".join((ROOT / "docs/kernels.md").read_text().split())
    ours, torchao, cublas = "triton_mixed_mm", "torchao", "cublas"
    for sentence in (
        f"took {both_ways(ours, 256)} µs at M = 256 where torchao's kernel took "
        f"{both_ways(torchao, 256)}, and at M = 1024 {both_ways(ours, 1024)} against cuBLAS's own "
        f"{both_ways(cublas, 1024)} with an fp16 W",
        f"At M = 64 the fused kernels took {both_ways(ours, 64)} µs against torchao's "
        f"{both_ways(torchao, 64)}, and cuBLAS's {both_ways(cublas, 64)} (H200",
        f"the layer took {us['gemlite_linear', 256, False]} µs at M = 256 and "
        f"{us['gemlite_linear', 1024, False]} at M = 1024, in the fused kernel, and "
        f"{us['gemlite_linear', 4096, False]} at M = 4096, dequantized; cuBLAS with an fp16 W took "
        f"{us[cublas, 256, False]}, {us[cublas, 1024, False]} and {us[cublas, 4096, False]}, "
        f"`gemm` {us['triton_gemm', 256, False]} at M = 256 and {us['triton_gemm', 1024, False]} "
        "at M = 1024",
    ):
        assert sentence in prose


def test_how_far_batches_are_from_humming_is_the_record():
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    took = {(r.kernel, r.weights, r.M, r.N, r.K): r.p50_us for r in rows}
    weights = [f"W{nbits} g{group}" for nbits in (8, 4, 2) for group in (128, 64)]
    both = [
        (us, took["humming", *rest])
        for (kernel, *rest), us in took.items()
        if kernel == "gemm_a16wn_fast" and ("humming", *rest) in took
        if rest[0] in weights and 32 <= rest[1] <= 512
    ]
    ratios = [ours / theirs for ours, theirs in both]
    behind = sum(ratio > 1.03 for ratio in ratios)
    assert (
        f"of {len(ratios)} cells of nine shapes, 8, 4 and 2 bits, groups of 128 and 64, "
        f"`gemm_a16wn_fast` takes {statistics.geometric_mean(ratios):.2f} times as long as humming "
        f"in the geometric mean; it takes more than 1.03 times as long in {behind} of them, "
        f"{max(ratios):.2f} times at most"
    ) in " ".join((ROOT / "docs/benchmarks.md").read_text().split())


def test_the_lesson_of_the_layer_says_how_it_compares_with_cublas():
    measured = measurements.of_squares("NVIDIA H200")

    def from_to(Ms, form):
        times = [
            measured["cublas", "W16", N, M].p50_us
            / measured["gemlite_linear", "W4 g128", N, M].p50_us
            for N in (4096, 8192, 16384)
            for M in Ms
        ]
        return f"{form(min(times))} to {form(max(times))}"

    lesson = (ROOT / "notebooks/30_linear_layer.ipynb").read_text()
    few, many = from_to((1, 4, 16), "{:.1f}".format), from_to((1024,), lambda x: f"{100 * x:.0f}")
    assert f"from M = 1 to 16 it is {few} times as fast as cuBLAS" in lesson
    assert f"it reaches {many} % of cuBLAS's speed" in lesson


def test_how_far_many_rows_are_from_cublas_is_the_record():
    rows = measurements.latest(measurements.read(measurements.path_of("NVIDIA H200")))
    many = [row for row in rows if row.M == 4096 and not row.transposed]
    cublas = {(row.date, row.N, row.K): row.p50_us for row in many if row.kernel == "cublas"}
    most = {
        nbits: max(
            row.p50_us / cublas[row.date, row.N, row.K]
            for row in many
            if (row.kernel, row.weights) == ("dequantize_then_cublas", f"W{nbits} g128")
        )
        for nbits in (4, 8, 2)
    }
    prose = " ".join((ROOT / "docs/kernels.md").read_text().split())
    assert (
        f"multiplying by it took at most {most[4]:.2f} times as long as cuBLAS with an fp16 W in "
        f"4 bits, {most[8]:.2f} in 8 bits and {most[2]:.2f} in 2"
    ) in prose
