"""Compile and run programs that are deep in one construct each, and time the stages.

``python benchmarks/depth.py [--levels 200 1000 2000] [--only PART] [--limit SECONDS] [--json OUT]``
``python benchmarks/depth.py --only PART --levels N --profile``

Each program runs in new processes with empty caches.  Seconds are of the processor, so that
other work does not count.  The first columns are stages of the compiler; ``interpreter`` and
``device`` are whole runs with compilation, and with processes that build kernels.  What is not over
after the limit, or fails, has a word instead of seconds.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import runelift
from runelift.codegen.cost.version_costs import with_costs
from runelift.codegen.hostplan.host import plan_fun
from runelift.codegen.plan.plan import kernels
from runelift.frontend.elaborate import elaborate
from runelift.frontend.load import checked
from runelift.ir.base.deep import DEEP_FRAMES, DEEP_STACK, DEEP_THREAD
from runelift.ir.base.source import Source
from runelift.ir.imp.check import check as check_kernel
from runelift.ir.names import Names
from runelift.rewrite.flattening import derive
from runelift.rewrite.pipeline import clean, optimise
from tests.deep_programs import PROGRAMS, wanted

STAGES = ("check", "elaborate", "optimise", "flatten", "clean", "plan", "costs", "verify")
"""The stages of the compiler that are timed."""


def main() -> None:
    """Print a line for each construct and number of levels."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", type=int, nargs="+", default=[200, 1000, 2000])
    parser.add_argument("--only", default="", help="a part of the name of a construct")
    parser.add_argument("--limit", type=float, default=120, help="seconds of each run")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--profile", action="store_true", help="of the stages")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = [name for name in PROGRAMS if options.only in name]
    if options.child:
        child(options.only, options.levels[0], options.child)
        return
    if options.profile:
        for name in chosen:
            in_deep_thread(lambda name=name: profile(name, options.levels[0]))
        return
    columns = (*STAGES, "interpreter", "device")
    print(f"{'construct':20}{'levels':>7}" + "".join(f"{name:>12}" for name in columns))
    rows = []
    for name in chosen:
        for levels in options.levels:
            found = {column: "-" for column in columns}
            for part in ("stages", "interpreter", "device"):
                found |= measured(name, levels, part, options.limit)
            rows.append({"construct": name, "levels": levels, **found})
            print(f"{name:20}{levels:7}" + "".join(f"{found[each]:>12}" for each in columns),
                  flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def measured(name: str, levels: int, part: str, limit: float) -> dict[str, str]:
    """The seconds that a new process says, or a word on what went wrong."""
    with tempfile.TemporaryDirectory() as cache:
        child = subprocess.Popen(
            [sys.executable, __file__, "--only", name, "--levels", str(levels), "--child", part],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "POCL_CACHE_DIR": cache, "RUNELIFT_CACHE": cache})
        try:
            said, errors = child.communicate(timeout=limit)
            word = ""
        except subprocess.TimeoutExpired:
            child.kill()
            said, errors = child.communicate()
            word = f">{limit:.0f}"
    found = dict(line.split("=") for line in said.split() if "=" in line)
    if child.returncode and not word:
        word = f"signal {-child.returncode}" if child.returncode < 0 else "error"
        print(errors[-300:], file=sys.stderr)
    if word:
        order = STAGES if part == "stages" else (part,)
        found[next(each for each in order if each not in found)] = word
    return found


def child(name: str, levels: int, part: str) -> None:
    """Say the seconds of the stages, or of a whole run."""
    start = time.process_time()
    if part == "stages":
        in_deep_thread(lambda: stages(PROGRAMS[name](levels), said))
        return
    found = runelift.compile(PROGRAMS[name](levels),
                             device="interpreter" if part == "interpreter" else None).main(7)
    assert int(found) == wanted(name, levels), found
    inside = resource.getrusage(resource.RUSAGE_CHILDREN)
    said(part, time.process_time() - start + inside.ru_utime + inside.ru_stime)


def said(stage: str, seconds: float) -> None:
    """Say the seconds of a stage at once."""
    print(f"{stage}={seconds:.2f}", flush=True)


def in_deep_thread(work: Callable[[], None]) -> None:
    """Run ``work`` with the room that the compiler has for deep programs."""
    sys.setrecursionlimit(DEEP_FRAMES)
    threading.stack_size(DEEP_STACK)
    thread = threading.Thread(target=work, name=DEEP_THREAD)
    thread.start()
    thread.join()


def stages(text: str, note: Callable[[str, float], None]) -> None:
    """Take a program through the stages of the compiler; ``note`` gets the seconds of each."""
    names, at = Names(), [time.process_time()]

    def over(stage: str) -> None:
        now = time.process_time()
        note(stage, now - at[0])
        at[0] = now

    module = checked(Source("deep.fut", text))
    over("check")
    core = elaborate(module, names)
    over("elaborate")
    core = optimise(core, names)
    over("optimise")
    flat, _ = derive(core, names)
    over("flatten")
    versioned = clean(flat, names)
    over("clean")
    plan = plan_fun(versioned.funs[0], names, interleave=False, coherent=True)
    over("plan")
    plan = with_costs(plan)
    over("costs")
    for kernel in kernels(plan.steps):
        check_kernel(kernel)
    over("verify")


def profile(name: str, levels: int) -> None:
    """Print where the time of the stages goes."""
    profiler = cProfile.Profile()
    profiler.enable()
    stages(PROGRAMS[name](levels), said)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    pstats.Stats(profiler).sort_stats("cumtime").print_stats(60)


if __name__ == "__main__":
    main()
