"""Comparing the results of versions on the device, without waiting for it.

Versions may add numbers up in another order, so floats may differ by rounding.  Elements that
differ by more than a small fraction are *distant*.  Their distance must be small relative to the
greatest element of the array.  Integers must be equal unless floats decide about them.  Then they
may differ by one, and a few of them by more.

Where numbers cancel, one version may give 0 and another a rounding error.  Such an array has no
large elements to compare with.  Its rounding errors are compared with the greatest input instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pyopencl as cl

from runelift.codegen.emit.prelude import STORED, TYPES
from runelift.codegen.plan.plan import Plan
from runelift.ir.imp import Kernel
from runelift.ir.prim import Prim
from runelift.ir.types import Const
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.first_launch import is_narrow, launch_until_begun
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.policy import BuildWatch

COMPARISON_BATCH = 4096
"""The number of comparisons after which the host reads the results."""
RELATIVE_TOLERANCE = {Prim.F16: 0.1, Prim.F32: 2e-3, Prim.F64: 1e-6}
"""The fraction of themselves by which elements may differ."""
ABSOLUTE_TOLERANCE = {Prim.F16: 0.05, Prim.F32: 1e-5, Prim.F64: 1e-11}
"""The fraction of the greatest element by which elements may differ."""
UNEQUAL_INTEGERS = 0.01
"""The fraction of the integers that may differ by more than one if floats decide about them."""
CELLS_PER_COMPARISON = 3
"""The results of a comparison: count of unequal elements, greatest distance and element."""

@dataclass(frozen=True, slots=True)
class VersionPair:
    """Two versions of a site."""

    site: str
    one: int
    other: int


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The comparison of two arrays of ``count`` elements; ``rounded``: they depend on floats."""

    pair: VersionPair
    prim: Prim
    count: int
    rounded: bool

    def difference(self, odd: int, apart: float, greatest: float, scale: float) -> str | None:
        """The difference in words, or None if rounding explains it.

        ``odd`` is the number of elements that rounding cannot explain.  All other elements differ
        by at most ``apart``.  ``scale`` is the greatest input of the program.
        """
        if odd > (UNEQUAL_INTEGERS * self.count if self.rounded and not self.prim.is_float else 0):
            return f"{odd} of {self.count} elements"
        bound = ABSOLUTE_TOLERANCE.get(self.prim, 0.0)
        cancelled = apart == greatest <= bound * scale  # against 0
        if apart > bound * greatest and not cancelled:
            return f"up to {apart:.2g}, where the greatest element is {greatest:.2g}"
        return None


class Differences:
    """Comparisons on a device, and their results; ``watch`` hears of the builds of their kernels.

    ``differing`` has the first difference of two versions in words, ``agreeing`` the number of
    comparisons without one.
    """

    def __init__(self, device: Device, queue: Any, watch: BuildWatch) -> None:
        self._device = device
        self._queue = queue
        self._watch = watch
        self._waiting: list[_Comparison] = []
        self._found: Any = None
        self._inputs: list[tuple[Prim, Buffer, int]] = []
        self._scale: float | None = None
        self.agreeing: dict[VersionPair, int] = {}
        self.differing: dict[VersionPair, str] = {}

    def scalars(self, pair: VersionPair, prim: Prim, one: Any, other: Any, *,
                rounded: bool) -> None:
        """Compare two scalars on the host."""
        bound = RELATIVE_TOLERANCE.get(prim, 0.0)
        same = (rounded and not prim.is_float) or one == other or (
            one != one and other != other) or (
            abs(one - other) <= bound * max(abs(one), abs(other)))
        self._note(pair, None if same else f"{one} and {other}")

    def arrays(self, pair: VersionPair, prim: Prim, one: Buffer, other: Buffer, count: int, *,
               rounded: bool) -> None:
        """Compare two arrays of so many elements; ``rounded``: they depend on floats."""
        if count <= 0 or one is other:
            return
        if len(self._waiting) == COMPARISON_BATCH:
            self.settle()
        if not self._waiting:
            self._clear()
        self._compare(prim, one, other, count, len(self._waiting), rounded=rounded)
        self._waiting.append(_Comparison(pair, prim, count, rounded))

    def _clear(self) -> None:
        if self._found is None:
            self._found = cl.Buffer(self._device.context, cl.mem_flags.READ_WRITE,
                                    4 * CELLS_PER_COMPARISON * COMPARISON_BATCH)
        cl.enqueue_fill_buffer(self._queue, self._found, np.zeros(1, np.uint32), 0,
                               4 * CELLS_PER_COMPARISON * COMPARISON_BATCH)

    def _compare(self, prim: Prim, one: Buffer, other: Buffer, count: int, place: int, *,
                 rounded: bool = False) -> None:
        info = self._device.info
        group = info.group_size
        groups = max(1, min(info.num_groups, -(-count // group)))
        slack = () if prim.is_float else (np.uint64(rounded),)
        self._launch(prim, groups * group, group, one.handle, other.handle, np.int64(count),
                     self._found, np.int64(CELLS_PER_COMPARISON * place), *slack)

    def _launch(self, prim: Prim, items: int, group: int, *args: Any) -> None:
        """Launch the kernel for a type; what is built at the first launch is told to the watch."""
        launched = _launched(self._device, prim)
        if is_narrow(items) in launched:
            _kernel(self._device, prim)(self._queue, (items,), (group,), *args)
            return
        program = _program(prim)
        self._queue.finish()
        self._watch.begins(program, needed=True)
        try:
            kernel = _kernel(self._device, prim)
            if self._device.info.is_pocl:
                kernel.set_args(*args)
                launch_until_begun(self._queue, kernel, items, group)
            else:
                kernel(self._queue, (items,), (group,), *args)
        finally:
            self._watch.ends(program)
        launched.add(is_narrow(items))

    def _cells(self, count: int) -> tuple[np.ndarray[Any, Any], ...]:
        """The results of comparisons: unequal elements, distances, and greatest elements."""
        cells = np.empty((count, CELLS_PER_COMPARISON), np.uint32)
        cl.enqueue_copy(self._queue, cells, self._found, is_blocking=True)
        return cells[:, 0], *(cells[:, k].copy().view(np.float32) for k in (1, 2))

    def take_inputs(self, numbers: Sequence[float],
                    arrays: Sequence[tuple[Prim, Buffer, int]]) -> None:
        """Take the inputs of the program: floats, and arrays of floats with their lengths."""
        self._inputs = [each for each in arrays if each[2] > 0][:COMPARISON_BATCH]
        self._scale = max((abs(x) for x in numbers if math.isfinite(x)), default=0.0)

    def _greatest_input(self) -> float:
        """The greatest input of the program, found when it is needed."""
        if self._inputs:
            self._clear()
            for place, (prim, buffer, count) in enumerate(self._inputs):
                self._compare(prim, buffer, buffer, count, place)
            _, _, greatest = self._cells(len(self._inputs))
            self._inputs, self._scale = [], max(self._scale or 0.0, float(greatest.max()))
        return self._scale or 0.0

    def settle(self) -> None:
        """Read the results of all comparisons so far; waits for the device."""
        if not self._waiting:
            return
        odd, apart, greatest = self._cells(len(self._waiting))
        scale = self._greatest_input() if (apart > 0).any() else 0.0
        for k, each in enumerate(self._waiting):
            self._note(each.pair, each.difference(odd[k], apart[k], greatest[k], scale))
        self._waiting.clear()

    def _note(self, pair: VersionPair, how: str | None) -> None:
        if how is None:
            self.agreeing[pair] = self.agreeing.get(pair, 0) + 1
        else:
            self.differing.setdefault(pair, how)


def computes_with_floats(kernels: Iterable[Kernel]) -> bool:
    """True if a kernel has floats among its parameters."""
    return any(param.prim.is_float for kernel in kernels for param in kernel.params)


def float_inputs(plan: Plan, args: Mapping[str, Any]
           ) -> tuple[list[float], list[tuple[Prim, Buffer, int]]]:
    """The floats among the arguments: numbers, and arrays with their lengths."""
    numbers, arrays = list[float](), list[tuple[Prim, Buffer, int]]()
    for spec in plan.params:
        value = args[str(spec.name)]
        if not spec.prim.is_float:
            continue
        if spec.shape is None:
            numbers.append(float(value))
        else:
            arrays.append((spec.prim, value, math.prod(
                int(size.value) if isinstance(size, Const) else args[str(size)]
                for size in spec.shape)))
    return numbers, arrays


@cache
def _program(prim: Prim) -> tuple[str, ...]:
    """The text and the options of the kernel that compares arrays of a type."""
    name = "compare_floats.cl" if prim.is_float else "compare_integers.cl"
    text = (files(__package__) / name).read_text("utf-8")
    options = [f"-DTYPE={TYPES[prim]}"]
    if prim.is_float:
        single = "f" if TYPES[prim] == "float" else ""
        options += [f"-DRELATIVE={RELATIVE_TOLERANCE[prim]!r}{single}", f"-DSTORED={STORED[prim]}"]
        options += ["-DHALF"] * (prim is Prim.F16)
    return text, *options


@cache
def _kernel(device: Device, prim: Prim) -> Any:
    text, *options = _program(prim)
    return cl.Kernel(cl.Program(device.context, text).build(options=options), "compare")


@cache
def _launched(device: Device, prim: Prim) -> set[bool]:
    """The kinds of launches that the kernel for a type has had: narrow, or not."""
    return set()
