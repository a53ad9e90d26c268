import fcntl
import multiprocessing
from pathlib import Path

import pytest
from measured_rows import measured

from gemlite_lab.bench import measurements


def test_rows_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "new folder" / "bench_card.csv"
    rows = [
        measured("fast", 12.345, transposed=True),
        measured("slow", 0.0, refused='wrong result: "3", and more'),
        measured("fast", 1e-3, M=4, weights="W16"),
    ]
    for row in rows:
        measurements.append(path, row)
    assert measurements.read(path) == rows
    assert path.read_text().count("date,device,kernel") == 1


def test_a_row_cut_short_costs_no_other_row(tmp_path, capsys):
    path = tmp_path / "bench_card.csv"
    measurements.append(path, measured("first", 1.0))
    measurements.append(path, measured("cut", 2.0))
    path.write_text(path.read_text()[:-60])
    measurements.append(path, measured("last", 3.0))
    assert [row.kernel for row in measurements.read(path)] == ["first", "last"]
    assert "bench_card.csv: row 3 is cut short and left out" in capsys.readouterr().out


def test_an_empty_file_gets_its_header(tmp_path):
    path = tmp_path / "bench_card.csv"
    path.touch()
    measurements.append(path, measured("a", 1.0))
    assert [row.kernel for row in measurements.read(path)] == ["a"]


def test_a_file_with_other_columns_is_left_as_it_is(tmp_path):
    path = tmp_path / "bench_card.csv"
    path.write_text("date,device\n2026-11-22,Card\n")
    with pytest.raises(ValueError, match="has other columns than this version writes: move it"):
        measurements.append(path, measured("a", 1.0))
    assert path.read_text() == "date,device\n2026-11-22,Card\n"


def append_forty(path, name, start):
    start.wait(60)
    for i in range(40):
        measurements.append(path, measured(f"{name} {i}", 1.0))


def test_runs_that_append_at_once_lose_nothing(tmp_path):
    path = tmp_path / "bench_card.csv"
    context = multiprocessing.get_context("fork")  # they import nothing again
    start = context.Barrier(3)
    runs = [
        context.Process(target=append_forty, args=(path, name, start))
        for name in ("one", "two", "three")
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0, 0]
    kernels = [row.kernel for row in measurements.read(path)]
    assert sorted(kernels) == sorted(f"{n} {i}" for n in ("one", "two", "three") for i in range(40))


def test_a_run_waits_until_another_has_appended(tmp_path):
    path = tmp_path / "bench_card.csv"
    row = measured("a", 1.0)
    run = multiprocessing.get_context("fork").Process(target=measurements.append, args=(path, row))
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        run.start()
        run.join(0.3)
        assert run.is_alive() and path.read_text() == ""
        fcntl.flock(file, fcntl.LOCK_UN)
        run.join()
    assert measurements.read(path) == [row]


def test_measurements_are_kept_in_the_repository():
    root = Path(__file__).parent.parent.parent
    assert measurements.FOLDER == root / "benchmarks" / "data"


def test_the_latest_of_each_kernel_and_problem_that_has_a_time_stays():
    refused = measured("gone", 0.0, refused="its result is wrong")
    rows = [measured("gone", 9.0), measured("a", 1.0), measured("b", 2.0), measured("a", 3.0, M=4)]
    rows += [measured("a", 4.0), refused, measured("a", 5.0, transposed=True)]
    found = measurements.latest(rows)
    assert [(row.kernel, row.p50_us) for row in found] == [
        ("a", 4.0),
        ("b", 2.0),
        ("a", 3.0),
        ("a", 5.0),
    ]


def test_those_of_squares_are_found_by_kernel_weights_size_and_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "FOLDER", tmp_path)
    square = [measured("a", us, N=64, K=64) for us in (1.0, 2.0)]
    others = [measured("a", 3.0, N=64, K=64, transposed=True), measured("a", 4.0, N=64, K=128)]
    for row in [*square, *others]:
        measurements.append(measurements.path_of(row.device), row)
    found = measurements.of_squares(square[0].device)
    assert found == {("a", square[1].weights, 64, 1): square[1]}


def test_a_file_that_is_not_there_gives_one_sentence(tmp_path):
    with pytest.raises(
        ValueError, match="^there is no .*bench_none.csv: run make bench; there are"
    ):
        measurements.read(tmp_path / "bench_none.csv")


def test_a_device_has_its_file():
    assert measurements.path_of("NVIDIA H200").name == "bench_nvidia_h200.csv"


def test_the_problem_and_the_fraction_of_a_row():
    row = measured("a", 400.0, M=4)
    assert row.problem == ("W4 g128", False, 4, 100, 1000)
    assert row.fraction == 0.25
