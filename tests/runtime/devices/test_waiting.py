"""Ctrl-C ends waits for a device in Python sessions."""

from __future__ import annotations

import subprocess
import sys
import time

SESSION = """
import os, signal, sys, threading, time
import numpy as np, runelift
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run without it
program = runelift.compile(
    "entry main (ns: []i32) = map (\\\\n -> loop x = 1i32 for i < n do (x * 3) ^ i) ns\\n"
    "entry endless (xs: []i32) = map (\\\\x -> loop x while x != 0 do (x * 2) | 1) xs",
    device="Portable")
small = np.array([1, 2], np.int32)
expected = program["main"](small).tolist()
def after(seconds, entry, argument):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    try:
        entry(argument)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - began < seconds + 1, flush=True)
def again():
    try:
        print(program["main"](small).tolist() == expected, flush=True)
    except runelift.ir.base.errors.UserError as error:
        print(error, flush=True)
"""
REFUSED = ("The device still runs the program that was interrupted.  Wait for its end, or restart "
           "Python.")


def session(code: str) -> list[str]:
    return subprocess.run([sys.executable, "-c", SESSION + code], capture_output=True, text=True,
                          check=True, timeout=60).stdout.splitlines()


def test_an_endless_kernel_does_not_keep_the_session() -> None:
    began = time.monotonic()
    assert session("after(3, program.endless, small); again(); del program; sys.exit(0)") == [
        "interrupted True", REFUSED]
    assert time.monotonic() - began < 30


def test_the_device_can_be_used_again_after_a_long_kernel() -> None:
    code = """
program.main(np.full(2, 100_000_000, np.int32))  # a wait before may be interrupted if it was long
after(.2, program.main, np.full(2, 2_000_000_000, np.int32))
again()
while program.device.waits.abandoned is not None and not program.device.waits.abandoned.wait(30):
    pass
again()
"""
    assert session(code) == ["interrupted True", REFUSED, "True"]
