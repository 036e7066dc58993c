"""Oclgrind's notes on memory: which bytes were never written, as it reports them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from runelift.runtime.tools.testing.sanitizer import CHECKS, reports

BEGIN = """
import numpy as np, pyopencl as cl, runelift
program = runelift.compile("entry main (x: i32) = x", device="oclgrind")
device = program.loaded.executable("main").device
made = cl.Program(device.context, '''
kernel void put(global int *to) { to[get_global_id(0)] = 1; }
kernel void move(global int *to, global int *from) {
  to[get_global_id(0)] = from[get_global_id(0)];
}
''').build()
put_kernel, move_kernel = made.put, made.move
def put(to, count):
    put_kernel(device.plain, (count,), None, to.handle)
def move(to, source, count):
    move_kernel(device.plain, (count,), None, to.handle, source.handle)
    device.plain.finish()
def array(count):
    return device.pool.allocate(4 * count)
"""
RIGHT = {
    "an array in the place of a smaller one from the host": """
first = array(350)
device.write(first, np.zeros(350, np.int32))
del first
first, second = array(352), array(352)
put(first, 352)
move(second, first, 352)
""",
    "pieces in the place of smaller arrays from the host": """
first, size = array(350), device.pool.rounded(4 * 350)
device.write(first, np.zeros(350, np.int32))
del first
(piece,) = device.pool.take(size, 1)
put_kernel(device.plain, (352,), None, piece)
move_kernel(device.plain, (352,), None, array(352).handle, piece)
device.plain.finish()
""",
    "an array in the place of a smaller one that the driver freed": """
first, second = array(4), array(4)
put(first, 4)
move(second, first, 4)
del first, second
device.pool.trim()
first, second = array(16), array(16)
put(first, 16)
move(second, first, 16)
""",
    "counters, the scans' words and the count of groups": """
count = device.counters.size // 4
move(array(count), device.counters, count)
words = device.scan_status.begin(10)
move(array(words.size // 4), words, words.size // 4)
move_kernel(device.plain, (1,), None, array(1).handle, device.arrived)
device.plain.finish()
""",
}
WRONG = {
    "an array": "move(array(16), array(16), 16)",
    "an array in the place of one that was written": """
first = array(16)
put(first, 16)
device.plain.finish()
del first
first, second = array(16), array(16)
move(second, first, 16)
""",
    "pieces in the place of an array that was written": """
first, size = array(16), device.pool.rounded(64)
put(first, 16)
device.plain.finish()
del first
move_kernel(device.plain, (16,), None, array(16).handle, *device.pool.take(size, 1))
device.plain.finish()
""",
}


def _kinds(code: str) -> list[str]:
    """The kinds of reports while a process runs ``code``."""
    done = subprocess.run([sys.executable, "-c", BEGIN + code], check=True, capture_output=True,
                          text=True, env={**os.environ, **CHECKS})
    return [each.kind for each in reports(done.stderr)]


@pytest.mark.parametrize("name", RIGHT)
def test_what_was_written_is_not_reported(name: str) -> None:
    assert _kinds(RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_was_never_written_is_reported(name: str) -> None:
    assert _kinds(WRONG[name]) == ["Uninitialized value written to global memory"]
