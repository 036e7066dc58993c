"""Random kernels with private arrays on a device, compared with the interpreter of kernels.

``python -m tests.random_programs.private_arrays FIRST COUNT [DEVICE]`` prints the seeds of kernels
with wrong results: as they are, and if compilers may move accesses to all arrays.  Where the latter
has none, the device needs no ``IN_MEMORY`` (codegen/emit/prelude.cl).
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from runelift.codegen.emit.opencl import opencl_program
from runelift.codegen.emit.signatures import FAILURE_ARGS
from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.interpret import Launch, run
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.types import Const
from runelift.runtime.devices.build import quietly
from runelift.runtime.devices.info import select

POINTS = 32
CAPACITIES = (1, 1, 2, 3, 4, 5, 8, 40)
"""The lengths of arrays.  Compilers unroll loops over few elements."""
MOST = max(CAPACITIES)
"""The elements of a row of data."""


def lit(value: int, prim: Prim = Prim.I64) -> Exp:
    return imp.Lit(Const(value, prim))


def op(name: str, one: Exp, other: Exp, prim: Prim = Prim.I32) -> Exp:
    return imp.Apply(name, prim, (one, other))


class RandomKernel:
    """A work-item fills arrays up to the length of its row, copies them, and adds elements up."""

    def __init__(self, seed: int) -> None:
        self.random, self.names = random.Random(seed), Names()
        self.lengths, self.data, self.out, self.trips, self.point, self.length, self.total = (
            self.names.fresh(base)
            for base in ("lengths", "data", "out", "trips", "point", "length", "total"))
        self.capacity = self.random.choice(CAPACITIES)
        read = imp.Load(self.lengths, imp.Var(self.point), Prim.I64)
        bound = self.random.choice([read, op("min", read, lit(self.capacity), Prim.I64),
                                    lit(self.capacity)])
        array, first = self._filled(())
        body = [*first, *self._block((array,), 2), *self._block((array,), 2),
                self._each(lambda i: [self._add(imp.Load(array, imp.Var(i), Prim.I32))])]
        inside = imp.Apply("lt", Prim.I64, (imp.Var(self.point), lit(POINTS)))
        self.kernel = imp.Kernel("kernel_0", (
            imp.BufferParam(self.lengths, Prim.I64, False),
            imp.BufferParam(self.data, Prim.I32, False),
            imp.BufferParam(self.out, Prim.I32, True), imp.ScalarParam(self.trips, Prim.I64)), (), (
            imp.Declare(self.point, Prim.I64, imp.WorkItem(imp.Id.GLOBAL_ID)),
            imp.If(inside, (
                imp.Declare(self.length, Prim.I64, bound),
                imp.Declare(self.total, Prim.I32, lit(7, Prim.I32)), *body,
                imp.Store(self.out, imp.Var(self.point), imp.Var(self.total), Prim.I32)))))

    def _each(self, body: Callable[[VName], Sequence[Stm]], bound: Exp | None = None) -> Stm:
        """A loop over the elements of the row, or up to ``bound``."""
        index = self.names.fresh("i")
        return imp.For(index, lit(0), bound or imp.Var(self.length), lit(1), tuple(body(index)))

    def _add(self, value: Exp) -> Stm:
        total = imp.Var(self.total)
        return imp.Assign(self.total, op("sub", op("mul", total, lit(3, Prim.I32)), value))

    def _value(self, index: VName, arrays: Sequence[VName]) -> Exp:
        """A number for an element."""
        place = imp.Var(index)
        number = imp.Convert(Prim.I64, Prim.I32, place)
        row = op("mul", imp.Var(self.point), lit(MOST), Prim.I64)
        values = [number, imp.Load(self.data, op("add", row, place, Prim.I64), Prim.I32)]
        if arrays:
            other = self.random.choice(arrays)
            element = op("mul", lit(3, Prim.I32), imp.Load(other, place, Prim.I32))
            values += [op("add", lit(5, Prim.I32), imp.Load(other, lit(0), Prim.I32)),
                       op("add", element, self.random.choice([number, imp.Var(self.total)]))]
        return self.random.choice(values)

    def _filled(self, arrays: Sequence[VName]) -> tuple[VName, list[Stm]]:
        """A new array, and the code that fills it."""
        array, x = self.names.fresh("xs"), self.names.fresh("x")
        added = self.random.random() < 0.3

        def body(i: VName) -> list[Stm]:
            return [imp.Declare(x, Prim.I32, self._value(i, arrays)),
                    *([self._add(imp.Var(x))] if added else []),
                    imp.Store(array, imp.Var(i), imp.Var(x), Prim.I32)]

        return array, [imp.DeclareArray(array, Prim.I32, self.capacity), self._each(body)]

    def _copy(self, target: VName, source: VName) -> Stm:
        return self._each(lambda i: [imp.Store(target, imp.Var(i), imp.Load(
            source, imp.Var(i), Prim.I32), Prim.I32)])

    def _block(self, arrays: tuple[VName, ...], depth: int) -> list[Stm]:
        """Code over ``arrays``, with loops that nest up to ``depth``."""
        code: list[Stm] = []
        for _ in range(self.random.randint(1, 3)):
            match self.random.choice(["fill", "fill", "add", "copy", "set", "loop", "loop"]):
                case "fill":
                    array, filling = self._filled(arrays)
                    code += filling
                    arrays = (*arrays, array)
                case "add":
                    code.append(self._each(lambda i, now=arrays: [self._add(self._value(i, now))]))
                case "copy":
                    code.append(self._copy(*self.random.choices(arrays, k=2)))
                case "set":
                    code.append(imp.If(
                        imp.Apply("lt", Prim.I64, (lit(1), imp.Var(self.length))),
                        (imp.Store(self.random.choice(arrays), lit(min(1, self.capacity - 1)),
                                   imp.Var(self.total), Prim.I32),)))
                case "loop" if depth:
                    bound = self.random.choice([lit(2), lit(3), imp.Var(self.trips),
                                                imp.Var(self.length)])
                    code.append(self._each(lambda _, now=arrays: self._turn(now, depth), bound))
        return code

    def _turn(self, arrays: tuple[VName, ...], depth: int) -> list[Stm]:
        """An iteration, which may carry an array."""
        array, code = self._filled(arrays)
        code += self._block((*arrays, array), depth - 1)
        return [*code, *([self._copy(self.random.choice(arrays), array)]
                         if self.random.random() < 0.7 else [])]

    def inputs(self, seed: int) -> dict[VName, Any]:
        """The arguments by parameter."""
        rng = np.random.default_rng(seed)
        return {self.lengths: rng.integers(0, self.capacity + 1, POINTS),
                self.data: rng.integers(-9, 9, POINTS * MOST).astype(np.int32),
                self.out: np.zeros(POINTS, np.int32), self.trips: 2}


def results(context: cl.Context, made: RandomKernel, source: str, seed: int) -> Any:
    """What a device computes."""
    given, flags = made.inputs(seed), cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    arrays = [np.array([-1], np.int32), np.zeros(FAILURE_ARGS, np.int64),
              *(each for each in given.values() if isinstance(each, np.ndarray))]
    buffers = [cl.Buffer(context, flags, hostbuf=each) for each in arrays]
    with quietly():
        program = cl.Program(context, source).build(["-cl-std=CL1.2"])
    queue = cl.CommandQueue(context)
    program.kernel_0(queue, (POINTS,), (1,), *buffers, np.int64(given[made.trips]))
    found = np.empty(POINTS, np.int32)
    cl.enqueue_copy(queue, found, buffers[-1])
    return found


def check(context: cl.Context, seed: int) -> list[str]:
    """The forms of the kernel of a seed whose results are wrong."""
    made = RandomKernel(seed)
    wanted = made.inputs(seed)
    assert run(made.kernel, Launch(POINTS, 1, wanted)) is None
    source = opencl_program([made.kernel], {})
    forms = {"as it is": source, "free": source.replace("IN_MEMORY int", "int")}
    return [form for form, text in forms.items()
            if not np.array_equal(results(context, made, text, seed), wanted[made.out])]


def main(first: str, count: str, name: str = "") -> int:
    """Check kernels; 1 if results of one as it is are wrong."""
    device = select(name or None)
    assert device is not None, "the interpreter is no device"
    context = cl.Context([device.handle])
    wrong = [(seed, form) for seed in range(int(first), int(first) + int(count))
             for form in check(context, seed)]
    for seed, form in wrong:
        print(f"seed {seed}, {form}: wrong")
    print(f"{count} kernels, {len(wrong)} wrong results")
    return int(any(form != "free" for _, form in wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
