"""The rules on a learner's text agree with nvcc."""

import re
import subprocess
from functools import cache

import pytest
from cuda_probes import HOLE, KERNEL, LAUNCH, answer_of, in_namespaces, probes

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners import cuda, simulator

PROBES = probes()
ACCEPTED = [p for p in PROBES.values() if not p["nvcc"] and "refused_by" not in p]


@cache
def refusal(name):
    try:
        sources.expand(KERNEL, {HOLE: answer_of(PROBES[name])})
    except KernelTextError as error:
        return str(error)
    return ""


def test_the_rules_refuse_what_they_are_said_to_refuse_and_nothing_else():
    said = {name: refusal(name) for name in PROBES}
    by_rules = {name for name, probe in PROBES.items() if probe.get("refused_by") == "rules"}
    assert {name for name in said if said[name]} == by_rules


def test_a_refusal_is_one_sentence_that_names_a_line():
    for sentence in map(refusal, PROBES):
        assert not sentence or re.search(r"^the text for .*(\(line \d+\)|braces .*)$", sentence)


def test_what_nvcc_refuses_is_refused_here_but_for_a_few():
    refused = [probe.get("refused_by") for probe in PROBES.values() if probe["nvcc"]]
    assert len(refused) >= 400 and None not in refused
    assert refused.count("nvcc only") <= 8


def test_the_compiler_of_the_simulator_refuses_what_it_is_said_to_refuse(tmp_path):
    names = [name for name, probe in PROBES.items() if probe.get("refused_by") == "simulator"]
    answers = {f"probe_{i}": answer_of(PROBES[name]) for i, name in enumerate(names)}
    errors = simulator_errors(in_namespaces(answers), tmp_path)
    said = re.findall(r"^(probe_\d+):\d+:\d+: (?:fatal )?error", errors, re.MULTILINE)
    assert [name for probe, name in zip(answers, names, strict=True) if probe not in said] == []


def simulator_errors(text, folder):
    text, flags = simulator.build._prepare(text, LAUNCH.entry, LAUNCH.defines)
    source, header = folder / "probes.cpp", simulator.build.SHIM / "cuda_runtime.h"
    source.write_text(text, encoding="utf-8")
    flags += ["-fsyntax-only", "-fmax-errors=0", "-include", header]
    command = [simulator.compilers.find_compiler(), *flags, source]
    return subprocess.run(command, capture_output=True, text=True).stderr


def test_nvcc_compiles_what_it_is_said_to_compile(tmp_path):
    try:
        nvcc = cuda.find_nvcc()
    except RuntimeError as error:
        pytest.skip(str(error))
    source = tmp_path / "probes.cu"
    answers = {f"probe_{i}": answer_of(probe) for i, probe in enumerate(ACCEPTED)}
    source.write_text(in_namespaces(answers), encoding="utf-8")
    macros = [f"-D{name}={value}" for name, value in LAUNCH.defines.items()]
    flags = ["-ptx", "-w", "-O0", "-std=c++17", "-arch=sm_90", *macros]
    command = [nvcc, *flags, source, "-o", tmp_path / "ptx"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[:2000]
