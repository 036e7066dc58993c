"""Processes that are forked from one that has used a device never hang."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError

TEXT = "entry scale (xs: []f32) (s: f32): []f32 = map (* s) xs"
USED = f"""
import os, sys, gc, multiprocessing, pickle
import numpy as np, runelift
text = {TEXT!r}
program = runelift.compile(text, device="Portable")
xs = np.arange(4, dtype=np.float32)
array = program.scale(xs, 2, device_arrays=True)
"""
IN_COPY = """
if (child := os.fork()) == 0:
    try:
        print(WORK, flush=True)
    except runelift.ir.base.errors.UserError as error:
        print(error, flush=True)
    END
print(os.waitpid(child, 0)[1], flush=True)
"""
SECONDS = 60
REFUSED = "Devices do not work in a process that was made by 'fork'"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def copied(*works: str, end: str = "os._exit(0)", before: str = USED) -> list[str]:
    """What a copy of a process for each work prints, and its status."""
    code = before + "".join(IN_COPY.replace("WORK", work).replace("END", end) for work in works)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True, timeout=SECONDS).stdout.splitlines()


USES = (
    "program.scale(xs, 3)", "array.get()", "program.to_device(xs)", "program.scale(array, 3)",
    "runelift.compile(text, device='Portable').scale(xs, 2)",
    "pickle.loads(pickle.dumps(program)).scale(xs, 2)",
    "program.tune({'a': (xs, np.float32(1))})")
DROP = "[globals().pop('program'), globals().pop('array'), gc.collect()] and 'dropped'"
INTERPRETED = "runelift.compile(text, device='interpreter').scale(xs, 2).tolist()"


@cache
def copies() -> dict[str, list[str]]:
    """For each work, the line and the status of a copy: all are copies of one process."""
    works = (*USES, DROP, INTERPRETED)
    lines = copied(*works)
    assert len(lines) == 2 * len(works)
    return {work: lines[2 * n:2 * n + 2] for n, work in enumerate(works)}


@pytest.mark.parametrize("work", USES)
def test_a_device_in_a_copy_is_refused(work: str) -> None:
    said, status = copies()[work]
    assert said.startswith(REFUSED)
    assert "'spawn'" in said
    assert status == "0"


@pytest.mark.parametrize("work", ["program.scale(xs, 3)", "program.scale(array, 3.0)"])
def test_a_prepared_call_in_a_copy_is_refused(work: str) -> None:
    said, status = copied(work, before=USED + "for _ in range(5): program.scale(xs, 3)\n"
                                              "for _ in range(5): program.scale(array, 3.0)\n")
    assert said.startswith(REFUSED)
    assert status == "0"


@pytest.mark.parametrize("task", ["work, [1, 2]", "work_on, [program, program]"])
@pytest.mark.parametrize("pool", [
    "multiprocessing.get_context('fork').Pool(2)",
    "ProcessPoolExecutor(2, multiprocessing.get_context('fork'))"])
def test_pools_of_copies_do_not_wait_for_ever(pool: str, task: str) -> None:
    code = USED + f"""
from concurrent.futures import ProcessPoolExecutor
def work(number): return program.scale(xs, number)
def work_on(given): return given.scale(xs, 2)
with {pool} as workers:
    try:
        print(list(workers.map({task})))
    except runelift.ir.base.errors.UserError as error:
        print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           check=True, timeout=SECONDS).stdout
    assert found.startswith(REFUSED)


def test_the_device_of_a_program_that_has_not_run_is_refused_too() -> None:
    before = USED.replace("array = program.scale(xs, 2, device_arrays=True)", "")
    assert copied("program.scale(xs, 3)", before=before)[0].startswith(REFUSED)


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
def test_a_copy_drops_everything_and_ends(end: str) -> None:
    found = copies()[DROP] if end == "os._exit(0)" else copied(DROP, end=end)
    assert found == ["dropped", "0"]


def test_the_interpreter_works_in_a_copy() -> None:
    assert copies()[INTERPRETED] == ["[0.0, 2.0, 4.0, 6.0]", "0"]


def test_a_copy_of_a_process_without_devices_may_use_them() -> None:
    before = USED.partition("program =")[0] + "xs = np.arange(4, dtype=np.float32)\n"
    work = "runelift.compile(text, device='Portable').scale(xs, 2).tolist()"
    assert copied(work, before=before) == ["[0.0, 2.0, 4.0, 6.0]", "0"]


@pytest.mark.parametrize("device", ["Portable", "interpreter"])
def test_a_program_may_be_sent_to_a_spawned_process(device: str, tmp_path: Path) -> None:
    program = runelift.compile(TEXT, device=device)
    xs = np.arange(4, dtype=np.float32)
    expected = program.scale(xs, 2)
    (tmp_path / "program").write_bytes(pickle.dumps(program))
    found = subprocess.run(
        [sys.executable, "-c", "import pickle, sys, numpy as np; program = pickle.load(open("
         "sys.argv[1], 'rb')); print(program.scale(np.arange(4, dtype=np.float32), 2).tolist())",
         str(tmp_path / "program")], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert found.stdout.strip() == str(expected.tolist())


def test_an_array_on_a_device_may_not() -> None:
    program = runelift.compile(TEXT, device="Portable")
    array = program.scale(np.ones(2, np.float32), 2, device_arrays=True)
    with pytest.raises(UserError, match=r"array\.get"):
        pickle.dumps(array)
