"""Run an instrumented kernel and read the runner's report."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from gemlite_edu.kernels.plan import Launch
from gemlite_edu.runners.simulator.another_order import again_in_another_order
from gemlite_edu.runners.simulator.arguments import Argument, Tensor
from gemlite_edu.runners.simulator.build import build_instrumented_kernel
from gemlite_edu.runners.simulator.counted_requests import memory_lines, notes_finder
from gemlite_edu.runners.simulator.dependence import unwritten_local
from gemlite_edu.runners.simulator.endless_loops import endless_loop, endless_sentence
from gemlite_edu.runners.simulator.fault_sentences import fault_sentence
from gemlite_edu.runners.simulator.finding_sentences import Found
from gemlite_edu.runners.simulator.local_arrays import overrun_local
from gemlite_edu.runners.simulator.names_of_report import Names
from gemlite_edu.runners.simulator.record import NO_WINDOW, Record, Window
from gemlite_edu.runners.simulator.recorded_steps import read_record
from gemlite_edu.runners.simulator.report import Finding, Phase, Report
from gemlite_edu.runners.simulator.run import (
    count_workers,
    run_once,
    show_what_it_printed,
    tensors_by_name,
)
from gemlite_edu.runners.simulator.runner_process import ASLEEP
from gemlite_edu.runners.simulator.use_of_results import again_spoiled

_WARP_SIZE = 32
_STOPPED = ("endless", ASLEEP)  # beginnings of the status of a run that did not end by itself
_GRAVEST_FIRST = (
    *("outside", "misaligned", "left", "barriers", "pending", "race", "kept", "unwritten"),
)


def inspect_kernel(
    library: Path,
    source: str,
    arguments: Sequence[Argument],
    launch: Launch,
    time_limit: float,
    title: str,
    recorded: str = "",
    window: Window = NO_WINDOW,
) -> Report:
    """Launch `library` (from `build_instrumented_kernel`) and return the `Report`.

    source: the text whose lines the report quotes. recorded: where Nsight Compute has counted it.
    window: of the steps to record; one worker then runs all blocks. Outputs are written in place if
    the run completes.
    """
    if window is not NO_WINDOW:
        window.check(launch)
    sites = library.parent / "sites.txt"
    workers = count_workers(launch) if window is NO_WINDOW else 1
    run_in_another_order = again_in_another_order(library, arguments, launch, time_limit)
    run_spoiled = again_spoiled(library, arguments, launch, time_limit)
    raw, printed = run_once(library, arguments, launch, time_limit, workers, sites, window=window)
    is_stopped = _status(raw).startswith(_STOPPED)
    if workers > 1 and not is_stopped and ("\nfinding " in raw or _status(raw) != "done"):
        # One worker finds the errors in the order of the blocks, so every run reports the same.
        again, printed = run_once(library, arguments, launch, time_limit, 1, sites)
        raw = raw if _status(again).startswith(_STOPPED) else again
    show_what_it_printed(printed)
    text = Names(library, source, tensors_by_name(arguments), launch)
    *rows, status = raw.splitlines()
    findings = _findings(rows, status, text, time_limit, printed)
    if not status.startswith(_STOPPED):
        run = (arguments, launch, time_limit)
        found = overrun_local(library, raw, source, *run) or unwritten_local(library, raw, *run)
        findings = (*([text.finding(found[1], found[0], 1)] if found else []), *findings)
    loop = "" if status == "done" else endless_loop(library, text.code)
    if loop and findings:
        sentence = endless_sentence(findings[0].sentence)
        findings = (text.finding(sentence, loop, 1), *findings)
    if status == "done" and not findings:
        run_in_another_order()
        run_spoiled()
    return Report(
        title=title,
        lines=memory_lines(rows, text),
        findings=findings,
        find_notes=notes_finder(rows, text, library),
        phases=_phases(rows, text),
        least_bytes=sum(t.nbytes for t in text.tensors.values()),
        recorded=recorded,
        y=_output(arguments) if status == "done" else None,
        record=_record(rows, status, text, window, title, findings),
    )


def _record(
    rows: list[str],
    status: str,
    text: Names,
    window: Window,
    title: str,
    findings: Sequence[Finding],
) -> Record | None:
    if window is NO_WINDOW:
        return None
    ending = (findings[0].place, findings[0].sentence) if status != "done" else None
    return read_record(rows, text, window, title, ending)


def _output(arguments: Sequence[Argument]) -> torch.Tensor | None:
    return next((a.value for a in arguments if isinstance(a, Tensor) and a.is_output), None)


def _status(raw: str) -> str:
    """The last line of the runner's report."""
    return raw.rpartition("\n")[2]


def inspect_text(
    text: str,
    arguments: Sequence[Argument],
    launch: Launch,
    entry: str = "kernel",
    time_limit: float = 10.0,
    window: Window = NO_WINDOW,
) -> Report:
    """Launch the __global__ function `entry` of a CUDA text and return the `Report`.

    arguments: `Tensor`s and `Integer`s in the order of its parameters; launch: a `Launch`.
    window: of the steps to record. Line numbers ignore an empty first line of the text, as in the
    text of a hole. Outputs are written in place if the run completes. Raises KernelTextError if the
    text does not compile.
    """
    text = text.removeprefix("\n")
    library = build_instrumented_kernel(text, entry, {})
    title = f"{entry}: {launch}"
    return inspect_kernel(library, text, arguments, launch, time_limit, title, window=window)


def _findings(
    rows: list[str], status: str, text: Names, time_limit: float, printed: str
) -> tuple[Finding, ...]:
    found = sorted(_read_findings(rows, text), key=lambda item: item[:2])
    every = tuple(finding for _, _, finding in found)
    if status in ("done", "misaligned access"):
        return every
    place = _place_of_end(rows[0], text) if rows else ""
    line = text.code(place)
    sentence = fault_sentence(status, text.tensors, time_limit, printed, line)
    fault = text.finding(sentence, place, 1)
    if status.startswith("undefined"):  # it may come of a value that nothing wrote
        unwritten = _GRAVEST_FIRST.index("unwritten")
        causes = tuple(finding for gravity, _, finding in found if gravity == unwritten)
        return (*causes, fault, *(finding for finding in every if finding not in causes))
    return (fault, *every)


def _place_of_end(row: str, text: Names) -> str:
    _, site, instruction = row.split()
    return text.place_of_end(int(site), int(instruction, 16))


def _read_findings(rows: list[str], text: Names) -> Iterator[tuple[int, tuple[int, int], Finding]]:
    """(gravity, (block, turn), Finding) of each finding, except reads that a race explains."""
    grouped = defaultdict(list)
    for row in rows:
        if row.startswith("finding "):
            kind, *numbers = row.split()[1:]
            number, site, other, count, *details = map(int, numbers)
            key = (kind, number, text.place(site), text.place(other))
            grouped[key].append((details, count))  # a line may have several sites
    racing = {(key[1], place) for key in grouped if key[0] == "race" for place in key[2:]}
    for (kind, number, place, other_place), group in grouped.items():
        if kind == "unwritten" and (number, place) in racing:
            continue
        (block, turn, *details), _ = min(group)
        count = sum(times for _, times in group)
        is_plain = "atomic" not in text.code(place) + text.code(other_place)
        described = *text.describe(number, details), place, other_place
        of_fault: list[Any] = [block, count, *details, text.is_tensor(number) and is_plain]
        found = Found(kind, *described, *of_fault)
        finding = text.finding(found.sentence(), place, count, other_place)
        yield _GRAVEST_FIRST.index(kind), (block, turn), finding


def _phases(rows: list[str], text: Names) -> tuple[Phase, ...]:
    found = []
    for row in rows:
        if row.startswith("phase "):
            end, *counts = map(int, row.split()[1:])
            warps = -(-text.launch.threads_per_block // _WARP_SIZE)
            requests = tuple(tuple(counts[4 * w : 4 * w + 4]) for w in range(warps))
            found.append(Phase(text.place(end), requests))
    return tuple(found)
