import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

import benchmark_table  # noqa: E402
from measured_rows import measured  # noqa: E402

from gemlite_lab.bench import measurements  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    """Measurements of 1024 x 1024: its limit is 0.53 µs at M = 1."""
    rows = [
        measured("gone", 9.0, N=1024, K=1024),
        measured("mine", 2.0, N=1024, K=1024),
        measured("mine", 2.5, M=2, N=1024, K=1024),
        measured("mine", 1234.5, M=256, N=1024, K=1024, error=5e-4, version="2.0"),
        measured("peer", 1.0, N=1024, K=1024, torch="2.13.0"),
        measured("mine", 3.0, N=1024, K=1024, transposed=True),
        measured("fp16 slow", 8.0, N=1024, K=1024, weights="W16"),
        measured("fp16 fast", 4.0, N=1024, K=1024, weights="W16"),
        measured("gone", 0.0, N=1024, K=1024, refused="wrong"),
    ]
    for row in rows:
        measurements.append(tmp_path / "bench_card.csv", row)
    return tmp_path


def test_the_table_of_made_up_measurements(folder):
    text = "\n".join(benchmark_table.tables(folder))
    _, about, _, behind, *rest = text.split("\n\n")
    assert about == (
        "**Card**, 2026-11-22, torch 2.11.0 and 2.13.0, triton 3.6.0, CUDA 13.0: "
        "reads at 1,000 GB/s, fp16 products at 50 TFLOP/s."
    )
    assert "| W4 g128 | 1 | 1024 x 1024 |" in behind  # of peer: this package has no kernel "mine"
    # M = 256: 2 * 256 * 1024 * 1024 operations at 50 TFLOP/s are 10.7 µs, more than the bytes take.
    assert rest == [
        "**W4 g128**",
        "| M | N x K | limit | gone | mine | peer | fp16 |\n"
        "|---:|---|---:|---:|---:|---:|---:|\n"
        "| 1 | 1024 x 1024 | 0.6 | refused | 2.0 (28%) | **1.0** (56%) | 4.0 (14%) |\n"
        "| 2 | 1024 x 1024 | 0.6 |  | **2.5** (23%) |  |  |\n"
        "| 256 | 1024 x 1024 | 10.7 |  | **1,234** (1%) |  |  |",
        "Largest errors: mine (1.0 and 2.0) 5.0e-04, peer (1.0) 3.0e-04.",
        "**W4 g128, the transposed product x W**",
        "| M | N x K | limit | mine | fp16 |\n"
        "|---:|---|---:|---:|---:|\n"
        "| 1 | 1024 x 1024 | 0.6 | **3.0** (19%) |  |",
        "Largest errors: mine (1.0) 3.0e-04.",
    ]


def test_what_the_spread_does_not_tell_apart_is_bold_too(tmp_path):
    for kernel, us in (("first", 1.0), ("level", 1.015), ("slower", 1.1)):
        measurements.append(tmp_path / "bench_card.csv", measured(kernel, us))
    row = next(line for line in benchmark_table.tables(tmp_path) if line.startswith("| 1 |"))
    assert [cell.startswith("**") for cell in row.split(" | ")[3:6]] == [True, True, False]


def test_without_measurements_the_page_says_so(tmp_path):
    begin, end = benchmark_table.BEGIN, benchmark_table.END
    page = benchmark_table.page_with_table(f"before\n{begin}\nold\n{end}\nafter\n", tmp_path)
    sentence = "How fast the kernels themselves are is not measured yet."
    assert page == f"before\n{begin}\n{sentence}\n{end}\nafter\n"


def test_the_table_stands_between_its_marks(folder):
    begin, end = benchmark_table.BEGIN, benchmark_table.END
    page = benchmark_table.page_with_table(f"before\n{begin}\n{end}\nafter\n", folder)
    assert page.startswith(f"before\n{begin}\nMedian") and page.endswith(f"{end}\nafter\n")
    assert benchmark_table.page_with_table(page, folder) == page


def test_a_page_without_its_marks_is_left_as_it_is(tmp_path):
    with pytest.raises(ValueError, match="the page has not both marks"):
        benchmark_table.page_with_table(f"before\n{benchmark_table.BEGIN}\nafter", tmp_path)


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_what_git_does_not_know_stays_out(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name in ("known", "own"):
        measurements.append(tmp_path / f"bench_{name}.csv", measured(name, 1.0))
    subprocess.run(["git", "add", "bench_known.csv"], cwd=tmp_path, check=True)
    text = "\n".join(benchmark_table.tables(tmp_path))
    assert "known" in text and "own |" not in text.replace("known |", "")


def test_without_git_every_file_counts(tmp_path, monkeypatch):
    measurements.append(tmp_path / "bench_card.csv", measured("mine", 1.0))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "mine" in "\n".join(benchmark_table.tables(tmp_path))
