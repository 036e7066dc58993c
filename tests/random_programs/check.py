"""Random programs in every version on a device, compared with the interpreter and with Futhark.

``python -m tests.random_programs.check FAMILY FIRST COUNT [DEVICE [FUTHARK]]`` runs COUNT
programs and prints those that fail.  With FUTHARK, a path, its results are compared, too.
``--processes N`` runs them in N processes at a time, so that a crash ends few of them.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import runelift
from runelift.codegen.plan.parameters import Quantity
from runelift.ir.base.errors import CompilerLimitation, ProgramFailure, VersionUnavailable
from runelift.ir.interpret import interpret
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.runtime.data.text import format_value
from runelift.runtime.data.values import read_values
from runelift.runtime.execution.policy import CallPolicy
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import Forest, plans
from tests.random_programs.calls import CALLS
from tests.random_programs.derived import DERIVED
from tests.random_programs.groups import GROUPS
from tests.random_programs.halves import HALVES
from tests.random_programs.nests import LARGE, NESTS, nests
from tests.random_programs.ragged import LARGE as LARGE_ROWS
from tests.random_programs.ragged import RAGGED, ragged
from tests.random_programs.scans import SCANS
from tests.random_programs.updates import UPDATES
from tests.random_programs.writer import Family
from tests.replays import results_agree

FAMILIES = {"nests": NESTS, "wide": nests(LARGE), "groups": GROUPS, "updates": UPDATES,
            "halves": HALVES, "derived": DERIVED, "scans": SCANS, "ragged": RAGGED,
            "ragged_wide": ragged(LARGE_ROWS, 4), "calls": CALLS}
REPLAYED = 4
"""Of so many programs, one is also run with all versions at each encounter."""
COUNTS = ("{} programs, {} failed, {} beyond the compiler, {} compared with Futhark; "
          "{} of {} runs of versions;")
COUNTED = re.compile(re.escape(COUNTS).replace(r"\{\}", r"(\d+)"))
TOLD = 5
"""After so many programs the counts are told.  A process of ``--processes`` has so many."""
HANGS = 300
"""A process of ``--processes`` that takes so many seconds is ended."""
REPEATED = 4
"""Of so many programs, one is called again and again, so that command buffers run."""
MIXES = 3
"""How many random combinations of versions a program runs in, besides those that cover all."""
SET = 3
"""Of so many programs of a family with ``settings``, one runs with other parameters of kernels."""


def forced(forest: Forest, seed: int) -> list[dict[str, int]]:
    """Every version of every site, and some more ways to mix them."""
    rng = np.random.default_rng(seed)
    mixed = [{name: int(rng.integers(len(site.alternatives)))
              for name, site in forest.sites().items()} for _ in range(MIXES)]
    return [*plans(forest), *mixed]


def other_settings(program: Program, seed: int) -> list[dict[str, int]]:
    """Parameters of kernels: the least values, and random ones; operations of a kind are alike."""
    rng = np.random.default_rng(seed)
    least: dict[str, int] = {}
    drawn: dict[str, int] = {}
    places: dict[tuple[Quantity, ...], float] = {}
    for space in program.spaces("main"):
        place = places.setdefault(tuple(each.parameter.quantity for each in space.ranges),
                                  rng.random())
        if space.count > 1:
            least |= space.named(space.setting(1))
            drawn |= space.named(space.setting(1 + int(place * (space.count - 1))))
    return [each for each in (least, drawn) if each]


def results_with(program: Program, args: list[Any], force: Mapping[str, int],
                 setting: Mapping[str, int] | None, expected: Sequence[Any],
                 close: float = 0) -> bool:
    """Check the results of some versions with some parameters of kernels; False if they cannot run.

    Floats may differ by ``close``.
    """
    try:
        found, _ = program.run("main", args, force=force, thresholds=setting)
    except VersionUnavailable:  # a device need not have room for each of them
        return False
    for one, other in zip(found, expected, strict=True):
        exact = 0.0 if np.asarray(other).dtype.kind in "iub" else close
        np.testing.assert_allclose(one, other, exact, exact, err_msg=f"parameters {setting}")
    return True


def repeated(program: Program, args: list[Any], expected: Sequence[Any]
             ) -> list[tuple[list[Any], Sequence[Any]]]:
    """Calls in a row and their results, on the given elements and on others.

    Repeated calls see smaller elements and then greater ones, which may be lengths.  Arrays stay on
    the device, so that calls may know them.
    """
    def mapped(change: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
        return [change(value) if isinstance(value, np.ndarray) and value.ndim else value
                for value in values]

    def changed(change: Callable[[Any], Any]) -> list[tuple[list[Any], Sequence[Any]]]:
        given = mapped(change, args)
        with suppress(ProgramFailure):
            results = interpret(program.compiled.core, "main", given)
            return [(mapped(program.to_device, given), results)]
        return []

    turned = changed(lambda arg: np.flip(arg, 0))
    halved = changed(lambda arg: arg if arg.dtype.kind in "fb" else arg // 2)
    same = [(mapped(program.to_device, args), expected)]
    return [*halved * 5, *same * 3, *turned, *halved, *same * 2]


class Checked(NamedTuple):
    """A program whose versions agree with the interpreter; ``ran`` of ``wanted`` runs took place.

    All versions are wanted on each input, and maybe each with some parameters of kernels.
    """

    program: Program
    ran: int
    wanted: int


def check(family: Family, seed: int, device: str | None) -> Checked:
    """The program of a seed, after the interpreter and all versions that can run here agreed.

    What fails tells seed, versions and text.
    """
    ran = list[bool]()
    text = family.text(seed)
    force: dict[str, int] | str = "none yet"
    setting: dict[str, int] | None = None
    try:
        program = runelift.compile(text, device=device)
        compiled, forest = program.compiled, program.tree.entry("main")
        executable = program.loaded.executable("main")
        for ir in (compiled.core, compiled.optimised, compiled.versioned):
            assert parse(pretty(ir)) == ir
        for args in family.inputs(seed):
            expected = interpret(compiled.core, "main", args)
            executable.follow(CallPolicy(all_versions=True))
            setting = None
            for force in forced(forest, seed):
                ran.append(results_with(program, args, force, None, expected, family.close))
            if family.settings and seed % SET == 0:
                settings = other_settings(program, seed)
                for number, force in enumerate(plans(forest) if settings else (), seed):
                    setting = settings[number % len(settings)]
                    ran.append(results_with(program, args, force, setting, expected))
            if seed % REPEATED == 1:
                for force in plans(forest):
                    ran += [results_with(program, given, force, None, wanted, family.close)
                            for given, wanted in repeated(program, args, expected)]
            if seed % REPLAYED == 0 and forest.trees and not family.close:
                force, setting = "replayed", None
                results_agree(program, "main", args, expected)
    except Exception as wrong:
        wrong.add_note(f"seed {seed}, versions {force}, parameters {setting}\n{text}")
        raise
    return Checked(program, sum(ran), len(ran))


STREAMS = """\
def scatter_stream [k] 'a 'b (dest: *[k]a) (f: *acc ([k]a) -> b -> acc ([k]a)) (bs: []b): *[k]a =
  intrinsics.scatter_stream dest f bs
def reduce_by_index_stream [k] 'a 'b (dest: *[k]a) (op: a -> a -> a) (ne: a)
    (f: *acc ([k]a) -> b -> acc ([k]a)) (bs: []b): *[k]a = intrinsics.hist_stream dest op ne f bs
def write [k] 'a (dest: *acc ([k]a)) (i: i64) (v: a): *acc ([k]a) = intrinsics.acc_write dest i v
"""
"""Functions that Futhark gives to its own tests only."""


def peer_results(family: Family, seed: int, futhark: str) -> list[list[Any]] | None:
    """The results that Futhark computes for each input; None, and it is printed, if it cannot."""
    text = family.text(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.fut"
        path.write_text(STREAMS + text if "_stream" in text else text)
        try:
            command = [futhark, "run", "-w", str(path)]
            if "f16" not in text:  # code in C computes with f32
                _done([futhark, "c", "-w", str(path)])
                command = [str(path.with_suffix(""))]
            return [read_values(_done(command, "\n".join(map(format_value, args))),
                                "the peer's answer") for args in family.inputs(seed)]
        except subprocess.CalledProcessError as refused:
            print(f"seed {seed}: Futhark says {refused.stderr.decode()}\n{text}")
            return None


def _done(command: list[str], given: str = "") -> bytes:
    """The output of a command that gets an input."""
    return subprocess.run(command, input=given.encode(), check=True, capture_output=True,
                          timeout=300).stdout


def check_peer(family: Family, seed: int, program: Program, futhark: str) -> bool:
    """Check that Futhark agrees with the interpreter; False if it cannot compile the program."""
    results = peer_results(family, seed, futhark)
    for args, found in zip(family.inputs(seed), results or [], strict=False):
        expected = interpret(program.compiled.core, "main", args)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other, f"seed {seed}, ours and the peer's")
    return results is not None


def check_all(name: str, seeds: Sequence[int], device: str | None, futhark: str = "",
              seconds: float = math.inf) -> int:
    """Check programs one after the other; how many fail.  None begins after so many ``seconds``."""
    family, failed, limited, compared, ran, wanted = FAMILIES[name], 0, 0, 0, 0, 0
    end = time.monotonic() + seconds
    for number, seed in enumerate(seeds, 1):
        try:
            found = check(family, seed, device)
            ran, wanted = ran + found.ran, wanted + found.wanted
            compared += bool(futhark) and check_peer(family, seed, found.program, futhark)
        except CompilerLimitation as limitation:
            limited += 1
            print(f"seed {seed}: {limitation}")
        except Exception:
            failed += 1
            traceback.print_exc(file=sys.stdout)
        late = time.monotonic() > end
        if number % TOLD == 0 or number == len(seeds) or late:
            print(COUNTS.format(number, failed, limited, compared, ran, wanted),
                  f"{time.process_time() / number:.1f} s of processors for each", flush=True)
        if late:
            break
    return failed


def check_in_processes(name: str, seeds: Sequence[int], devices: Sequence[str], futhark: str,
                       processes: int, seconds: float) -> int:
    """Check programs in many processes, on devices in turn; how many of the processes fail.

    A process has a few programs.  No program begins after so many ``seconds``.  A process that
    fails, crashes or hangs prints all of its output when it ends, and where it was.
    """
    end = time.monotonic() + seconds

    def checked(first: int) -> subprocess.CompletedProcess[str] | None:
        left = end - time.monotonic()
        if left <= 0:
            return None
        few = seeds[first:first + TOLD]
        device = devices[first // TOLD % len(devices)]
        command = [sys.executable, "-X", "faulthandler", "-m", __spec__.name, name, str(few[0]),
                   str(len(few)), device, futhark, "--seconds", str(left)]
        try:
            return subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=HANGS)
        except subprocess.TimeoutExpired as hangs:
            told = hangs.output.decode() if isinstance(hangs.output, bytes) else ""
            return subprocess.CompletedProcess(command, -1, f"{told}\nno end in {HANGS} s")

    totals, ended, failed = [0] * COUNTS.count("{}"), 0, 0
    with ThreadPoolExecutor(processes) as pool:
        parts = [pool.submit(checked, first) for first in range(0, len(seeds), TOLD)]
        for part in as_completed(parts):
            if (done := part.result()) is None:
                continue
            ended += 1
            if counts := COUNTED.findall(done.stdout):
                totals = [sum(both) for both in zip(totals, map(int, counts[-1]), strict=True)]
            if done.returncode:
                failed += 1
                print(f"{' '.join(done.args)}: status {done.returncode}\n{done.stdout}")
            if done.returncode or ended % (4 * TOLD) == 0:
                print(COUNTS.format(*totals), f"{failed} of {ended} processes failed", flush=True)
    print(COUNTS.format(*totals), f"{failed} of {ended} processes failed")
    return failed


def main(given: Sequence[str] | None = None) -> int:
    """Check programs; 1 if some fail."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("count", type=int, help="the number of programs")
    parser.add_argument("device", nargs="?", help="with --processes, several between commas")
    parser.add_argument("futhark", nargs="?", default="", help="a compiler to compare with")
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args(given)
    seeds = range(options.first, options.first + options.count)
    if options.processes:
        return int(check_in_processes(options.family, seeds, (options.device or "").split(","),
                                      options.futhark, options.processes, options.seconds) > 0)
    return int(check_all(options.family, seeds, options.device or None, options.futhark,
                         options.seconds) > 0)


if __name__ == "__main__":
    sys.exit(main())
