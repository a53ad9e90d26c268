"""Translate the numbers of a runner's report to names: sites, lines, objects."""

import re

from gemlite_edu.kernels.calls_in_hole import lead_to_own_line, lines_by_place
from gemlite_edu.runners.simulator.build import SHIM
from gemlite_edu.runners.simulator.report import Finding
from gemlite_edu.runners.simulator.source_lines import frames_of, lines_of


class Names:
    """Translates the runner's numbers to names: sites, lines, objects."""

    def __init__(self, library, source, tensors, launch):
        self._library, folder = library, library.parent
        self.places = (folder / "lines.txt").read_text().splitlines()
        self.tensors, self.launch = tensors, launch
        self._source, self._code = source, lines_by_place(source)
        self.order_of = {place: number for number, place in enumerate(self._code)}
        self._objects = [*tensors, *(folder / "arrays.txt").read_text().splitlines()]
        sites = (folder / "sites.txt").read_text()
        sizes = re.findall(r"array \d+ (\d+) (\d)", sites)
        self._array_bytes = [
            launch.shared_bytes if kind == "1" else int(size) for size, kind in sizes
        ]
        self._variable_bytes = [int(size) for size in re.findall(r"variable \d+ (\d+)", sites)]

    def place(self, site):
        return self.places[site] if 0 <= site < len(self.places) else ""

    def place_of_end(self, site, instruction):
        """The place where a run ended: an instrument's call, or an uninstrumented instruction.

        instruction: its address in the library; 0 if it is not known.
        """
        if not instruction:
            return self.place(site)
        (place,) = lines_of(self._library, [instruction + 1], SHIM)
        return place or self.place(site)

    def calls(self, returns):
        """{address: the functions around it, as `frames_of` has them} for return addresses."""
        return dict(zip(returns, frames_of(self._library, returns, SHIM), strict=True))

    @property
    def lines(self):
        """{"file:line": text} of the whole source."""
        return self._code

    def code(self, place):
        return self._code.get(place, "").strip()

    def finding(self, sentence, place, count, other_place=""):
        """Make a `Finding`; other_place: for a race, where the other thread was."""
        is_own = other_place and not lead_to_own_line(other_place, self._source)
        note = "" if is_own else lead_to_own_line(place, self._source)
        return Finding(sentence, place, self.code(place), count, note)

    def name(self, number):
        return self._objects[number]

    def is_tensor(self, number):
        return 0 <= number < len(self.tensors)

    def space(self, number):
        """Where an object lies: "global", "shared", or "variable"."""
        if number < len(self.tensors):
            return "global"
        return "shared" if number - len(self.tensors) < len(self._array_bytes) else "variable"

    def describe(self, number, details):
        """(name, bytes, bytes per element, whether a variable, width of the grid) of an object."""
        *_, size, _ = details
        grid_x = self.launch.grid[0]
        if number < 0:
            return "", 0, 1, False, grid_x
        name = self.name(number)
        if number < len(self.tensors):
            tensor = self.tensors[name]
            return name, tensor.nbytes, tensor.element_size(), False, grid_x
        number -= len(self.tensors)
        arrays = len(self._array_bytes)
        if number >= arrays:
            return name, self._variable_bytes[number - arrays], size, True, grid_x
        return name, self._array_bytes[number], size, False, grid_x

    def order(self, place):
        return self.order_of.get(place, -1)
