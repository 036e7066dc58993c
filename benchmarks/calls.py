"""Time calls of small programs from Python beside the same commands in PyOpenCL and in C.

``python benchmarks/calls.py [--device NAME] [--sizes N,...] [--rounds N] [--json OUT]``

Each row is a way to call an entry point of one or two kernels.  Its array of floats comes from the
host or is on the device, and so for its result.  Runelift, PyOpenCL, and the driver by way of
ctypes issue the commands that it needs, in turn.  PyOpenCL and the driver check nothing, and keep
their buffers.  Times are medians in microseconds.  ``x`` is Runelift's time over that of PyOpenCL.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
from common import parser_of, write_json

import runelift
from runelift.runtime.records.statistics import median

PROGRAM = """
entry one [n] (xs: [n]f32): [n]f32 = map (\\x -> x * 2 + 1) xs
entry two [n] (xs: [n]f32): [n]f32 =
  let ys = map (\\x -> x * x) xs
  in map2 (\\i x -> x + ys[n - 1 - i]) (iota n) xs
entry total [n] (xs: [n]f32): f32 = f32.sum xs
"""
"""``one`` and ``two`` have as many kernels; ``total`` is a scalar."""

KERNELS = """
kernel void first(global const float *xs, global float *ys, long n) {
  if (get_global_id(0) < n) ys[get_global_id(0)] = xs[get_global_id(0)] * 2 + 1;
}
kernel void second(global const float *xs, global float *ys, long n) {
  if (get_global_id(0) < n) ys[get_global_id(0)] = xs[get_global_id(0)] * 2 + 1;
}
"""
GROUP = 256
CALLS = 20
"""The number of calls of each contender in a round."""

Call = Callable[[], object]


class Case(NamedTuple):
    """A way to call an entry point: its kernels, if its array is NumPy's, and its result's bytes.

    ``out`` is 0 if the result stays on the device.
    """

    label: str
    entry: str
    kernels: int
    copies_in: bool
    out: int


def cases(count: int) -> list[Case]:
    """The rows for an array of so many floats."""
    whole = 4 * count
    return [Case("device -> device", "one", 1, False, 0),
            Case("device -> device", "two", 2, False, 0),
            Case("device -> NumPy", "one", 1, False, whole),
            Case("device -> NumPy", "two", 2, False, whole),
            Case("device -> scalar", "total", 1, False, 4),
            Case("NumPy -> device", "one", 1, True, 0),
            Case("NumPy -> NumPy", "one", 1, True, whole)]


class Raw:
    """The commands of a case without Runelift."""

    def __init__(self, context: Any, values: Any) -> None:
        self.queue = cl.CommandQueue(context)
        self.values = values
        flags = cl.mem_flags.READ_WRITE
        self.given, self.made = (cl.Buffer(context, flags, values.nbytes) for _ in range(2))
        program = cl.Program(context, KERNELS).build()
        self.kernels = [program.first, program.second]
        for kernel in self.kernels:
            kernel.set_scalar_arg_dtypes([None, None, np.int64])
            kernel.set_args(self.given, self.made, values.size)
        cl.enqueue_copy(self.queue, self.given, values)
        self.items = -(-values.size // GROUP) * GROUP

    def pyopencl(self, case: Case) -> Call:
        """The calls of PyOpenCL."""
        queue, kernels, size = self.queue, self.kernels[:case.kernels], (self.items,)
        group, given, made, values = (GROUP,), self.given, self.made, self.values

        def call() -> object:
            if case.copies_in:
                cl.enqueue_copy(queue, given, values)
            for kernel in kernels:
                cl.enqueue_nd_range_kernel(queue, kernel, size, group)
            if not case.out:
                queue.finish()
                return made
            result = np.empty(case.out // 4, np.float32)
            cl.enqueue_copy(queue, result, made)
            return result

        return call

    def driver(self, case: Case) -> Call:
        """The calls of the driver, without events, from addresses made before."""
        library = ctypes.CDLL(cl._cl.__file__)
        pointer, word = ctypes.c_void_p, ctypes.c_size_t
        queue, none = pointer(self.queue.int_ptr), pointer()
        items, group = word(self.items), word(GROUP)
        enqueue, finish = library.clEnqueueNDRangeKernel, library.clFinish
        launches = [(queue, pointer(kernel.int_ptr), ctypes.c_uint(1), none, ctypes.byref(items),
                     ctypes.byref(group), ctypes.c_uint(), none, none)
                    for kernel in self.kernels[:case.kernels]]
        read, write = library.clEnqueueReadBuffer, library.clEnqueueWriteBuffer
        result = np.empty(max(case.out, 4) // 4, np.float32)
        rest = ctypes.c_uint(), none, none
        reading = (queue, pointer(self.made.int_ptr), ctypes.c_uint(1), word(), word(case.out),
                   pointer(result.ctypes.data), *rest)
        writing = (queue, pointer(self.given.int_ptr), ctypes.c_uint(1), word(),
                   word(self.values.nbytes), pointer(self.values.ctypes.data), *rest)

        def call() -> object:
            if case.copies_in:
                write(*writing)
            for launch in launches:
                enqueue(*launch)
            if case.out:
                read(*reading)
            else:
                finish(queue)
            return result

        return call


def contenders(program: Any, raw: Raw, case: Case) -> dict[str, Call]:
    """The three ways to make the calls of a case."""
    given = raw.values if case.copies_in else program.to_device(raw.values)
    ours = partial(_called, program, case, given)
    return {"runelift": ours, "pyopencl": raw.pyopencl(case), "driver": raw.driver(case)}


def _called(program: Any, case: Case, given: Any) -> object:
    """The result of a call as users write it."""
    return getattr(program, case.entry)(given, device_arrays=not case.out)


def times(ways: dict[str, Call], rounds: int) -> dict[str, float]:
    """The median time of a call, in microseconds, of each way; they take turns."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(rounds + 1):
        for name, call in ways.items():
            for number in range(CALLS):
                started = time.perf_counter()
                result = call()
                passed = time.perf_counter() - started
                del result
                if round_ and number:  # the first calls prepare the others
                    found[name].append(1e6 * passed)
    return {name: median(each) for name, each in found.items()}


def main() -> None:
    """Print a row for each case."""
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", default="10,10000")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    program = runelift.compile(PROGRAM, device=options.device)
    print(f"{program.device_info.name}, microseconds for a call")
    print(f"{'floats':>8} {'kernels':>7}  {'way':18}{'runelift':>10}{'pyopencl':>10}{'driver':>10}"
          f"{'x':>7}")
    found: list[dict[str, Any]] = []
    for count in map(int, options.sizes.split(",")):
        raw = Raw(program.device.context, np.random.default_rng(1).random(count, np.float32))
        for case in cases(count):
            made = times(contenders(program, raw, case), options.rounds)
            found.append({"floats": count, "kernels": case.kernels, "way": case.label, **made})
            print(f"{count:8} {case.kernels:7}  {case.label:18}"
                  + "".join(f"{each:10.1f}" for each in made.values())
                  + f"{made['runelift'] / made['pyopencl']:7.2f}", flush=True)
    write_json(options.json, found)


if __name__ == "__main__":
    main()
