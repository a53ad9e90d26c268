"""Exercises of a few lines: the learner completes a small kernel, and the whole kernel is run."""

import re
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from functools import cached_property
from math import prod

import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.holes import check_text, without_comments
from gemlite_edu.kernels.machine import machine_of
from gemlite_edu.kernels.plan import Launch
from gemlite_edu.numbers.checks import pointers_of
from gemlite_edu.runners import builds_ahead, cuda, nvcc_beside
from gemlite_edu.runners.simulator import Integer, Tensor
from gemlite_edu.runners.simulator.use_of_results import SHARED, SHUFFLES, spoiling
from gemlite_lab.checker.exercise import CheckFailed, Exercise, tensors_of
from gemlite_lab.lesson.launch import inspect_small, with_headers

_SPOILED = {
    SHUFFLES: "the simulator gives lanes wrong numbers from shuffles and mma",
    SHARED: "the simulator puts wrong numbers into the shared array at each barrier",
}
_SPACES = re.compile(r"\s+")
_SIZE_NAMES = ("N", "K")


@dataclass(frozen=True)
class SmallKernel:
    """One exercise. The kernel `name` takes the inputs, then the output y, then the sizes as ints.

    parameters: those of the kernel, in C, which the learner keeps.
    inputs: {parameter: function of (generator, *sizes) that draws its numbers}.
    right: function of (*the inputs, *sizes) that gives the y with torch that the kernel must give.
    launches: ((threads of a block, *sizes), ...), one for each case; the first one is run a second
        time with other numbers, and once more with new numbers at each check.
    blocks: function of (threads, *sizes) that gives the blocks of the grid.
    teaches: a word that a right answer has to use; it may go on, as a function's name.
    uses: SHUFFLES or SHARED of `use_of_results`, on which y has to depend; 0 for neither.
    judge: function of (report, case) that raises CheckFailed if a right answer takes a way that the
        exercise forbids.
    header: what the kernel may call, beside CUDA's own.
    fixed: the sizes that are the same in all cases, in words, such as "M = 8, ".
    """

    name: str
    parameters: str
    inputs: dict[str, Callable]
    right: Callable
    launches: tuple[tuple[int, ...], ...]
    hints: tuple[str, str, str]
    blocks: Callable = lambda threads, *sizes: -(-prod(sizes) // threads)
    teaches: str = ""
    uses: int = 0
    judge: Callable = lambda report, case: None
    header: str = ""
    fixed: str = ""

    @cached_property
    def cases(self):
        """The cases of every check."""
        found = [self._case(how, seed) for seed, how in enumerate(self.launches)]
        return [*found, self._case(self.launches[0], len(found), ", other numbers")]

    def fresh(self, seed):
        """The first case with numbers of this seed."""
        return [self._case(self.launches[0], seed, f", seed {seed}")]

    def expected(self, case):
        """The right y and no bound: it is exact."""
        return self.right(*tensors_of(case).values(), *case.launch.integers), None

    def _case(self, how, seed, suffix=""):
        threads, *sizes = how
        generator = torch.Generator().manual_seed(seed)
        drawn = {name: draw(generator, *sizes) for name, draw in self.inputs.items()}
        named = ", ".join(f"{n} = {size}" for n, size in zip(_SIZE_NAMES, sizes, strict=False))
        blocks = self.blocks(threads, *sizes)
        label = f"{self.fixed}{named}, {blocks} x {threads} threads{suffix}"
        launch = Launch((blocks, 1), threads, integers=tuple(sizes))
        return self._case_type(label, launch, **drawn)

    @cached_property
    def _case_type(self):
        return make_dataclass("SmallCase", ["label", "launch", *self.inputs], frozen=True)

    def run(self, answer, case, device):
        """y of the kernel in the text `answer`. Raises KernelTextError or KernelFault."""
        check_text(self.name, answer)
        self._check_signature(answer)
        right, _ = self.expected(case)
        y = torch.full_like(right, _poison(right.dtype))
        if device != "cpu":
            return self._run_on_gpu(answer, case, y.to(device)).cpu()
        replace = {self.name: answer}
        nvcc_beside.begin(self.source(answer), case.launch, replace)
        tensors = [Tensor(name, value) for name, value in tensors_of(case).items()]
        sizes = [Integer(size) for size in case.launch.integers]
        arguments = [*tensors, Tensor("y", y, is_output=True), *sizes]
        is_first = case.label == self.cases[0].label
        with spoiling(self.uses if is_first else 0) as depends:
            report = inspect_small(
                self.name,
                answer,
                arguments,
                case.launch,
                self.header,
                builds_ahead.end_if_only_built,
            )
        report.raise_findings()
        if torch.equal(report.y, right):
            self.judge(report, case)
            self._check_what_it_teaches(answer)
            self._check_what_it_uses(depends)
        return report.y

    def _check_what_it_uses(self, depends):
        if depends == [False]:
            raise CheckFailed(
                f"{self.name} gives the right numbers, and gives them also where "
                f"{_SPOILED[self.uses]}: y has to come of that, since this exercise is about it"
            )

    def _check_what_it_teaches(self, answer):
        if self.teaches not in without_comments(answer):
            raise CheckFailed(
                f"{self.name} gives the right numbers without {self.teaches}: use it, "
                "since this exercise is about it"
            )

    def source(self, answer):
        """The text that a compiler gets."""
        return with_headers(self.name, answer, self.header)

    def _check_signature(self, answer):
        given = f"__global__ void {self.name}({self.parameters})"
        if _SPACES.sub("", given) not in _SPACES.sub("", without_comments(answer)):
            raise KernelTextError(f"{self.name} must keep its first line: {given} {{")

    def _run_on_gpu(self, answer, case, y):
        source, capability = self.source(answer), machine_of(y.device).capability
        library = cuda.build_kernel(source, self.name, {}, capability, {self.name: answer})
        inputs = [tensor.to(y.device) for tensor in tensors_of(case).values()]
        cuda.ReadyLaunch(library, case.launch, y.device)(pointers_of((*inputs, y)))
        return y

    def exercise(self, lesson):
        """The `Exercise` that `check` judges."""
        return Exercise(
            name=self.name,
            lesson=lesson,
            output="y",
            dtype=self.expected(self.cases[0])[0].dtype,
            is_kernel=True,
            hints=self.hints,
            cases=lambda: self.cases,
            fresh=self.fresh,
            expected=self.expected,
            run=self.run,
        )


def _poison(dtype):
    """A number that shows where nothing was written."""
    return torch.nan if dtype.is_floating_point else torch.iinfo(dtype).min
