"""Ctrl-C waits for the end of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import runelift
from runelift.runtime.host import interrupts


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """What Python does unless it was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_one_waits_for_the_end_of_a_run() -> None:
    program = runelift.compile("entry main (x: i32): i32 = x + 1", device="Portable")
    before = signal.getsignal(signal.SIGINT)
    with interrupts.between_runs():
        assert program.main(np.int32(1)) == 2
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            program.main(np.int32(1))
        assert program.main(np.int32(1)) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_one_does_not_wait() -> None:
    with interrupts.between_runs():
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()


def test_one_that_comes_after_the_last_run_is_forgotten() -> None:
    with interrupts.between_runs():
        ctrl_c()
    interrupts.check()


def test_children_may_be_spared() -> None:
    waiting = [sys.executable, "-c", "print(flush=True); import time; time.sleep(0.5)"]
    with interrupts.not_for_children():
        child = subprocess.Popen(waiting, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    assert child.wait() == 0
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()


def test_elsewhere_the_first_one_does_not_wait() -> None:
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()
