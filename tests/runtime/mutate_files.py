"""Files of each kind that are read, and mutations of their bytes.

``python -m tests.runtime.mutate_files COUNT [KIND ...]`` tries many, and prints what it took.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runelift.frontend.load import load
from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source
from runelift.ir.base.visible import shortened
from runelift.ir.names import Names
from runelift.rewrite.lift.schedule import read_schedule
from runelift.runtime.cache import disk
from runelift.runtime.data.values import format_values, load_values
from runelift.runtime.research.t4 import best_configuration, read_t4
from runelift.runtime.rules.load import load_rules
from runelift.runtime.tools.commands import rerun
from runelift.runtime.tools.reports.two_tunings import render_two, two_tunings
from runelift.runtime.tools.testing.test_blocks import parse_blocks
from runelift.runtime.tuner.costs.log import made_for, read_log
from runelift.runtime.versions.size_guards import from_json
from runelift.runtime.versions.tuning_file import facts_path, names_in, read_facts, read_tuning
from tests.time_limit import time_limit

SECONDS = 10
"""The most time that one file may take."""
MOST_GROWTH = 1 << 30
"""The most bytes by which all files together may make the process grow."""

TEXT = b"""-- values
[[1i32, -2], [3, 0x4]] 2.5e3f32 -f64.inf "a\\n" empty([0][3]u8) true
[1_000u16, -1u16] f32.nan 0x1.8p3f64 [false, true] [[1.5, .5]]
"""
ENCOUNTER = {"site": "main.versions_0", "number": 0, "parent": None, "sizes": {"n_1": 2},
             "par": {"main.suff_outer_par_0": 2}, "feasible": [0, 1], "chosen": 1,
             "time": 1e-4, "busy": 3e-5, "gap": 9e-5, "launches": 3,
             "scarce": ["main.suff_intra_par_1"], "issue": 2e-4, "censored": False, "crowd": 0.0}
RECORD = {"entry": "main", "encounters": [ENCOUNTER, {**ENCOUNTER, "number": 1, "parent": 0}],
          "span": 1e-3, "busy": 1e-4, "wall": 2e-3, "host": 1e-5, "launches": 4,
          "peak_bytes": 4096, "device": "pocl", "infeasible": {"main.versions_0/2": "why"},
          "issue": 0.0, "waits": 0, "skipped": 0}
RUN = {"entry": "main", "for": "x", "dataset": "a", "force": {"main.versions_0": 1},
       "record": RECORD, "error": None, "time": 1e-4, "issue": 1e-5, "replay": None,
       "place": "pocl"}
LOG = "".join(json.dumps(line) + "\n" for line in (
    RUN, {**RUN, "record": None, "again": True}, {**RUN, "record": None, "error": "failed"},
    {"entry": "main", "for": "x", "dataset": "a", "forgotten": True}, RUN)).encode()
FACTS = json.dumps({
    "program_sha256": "00", "settings": {"pocl": {"a.group": 64}},
    "guards": {"policy": "all", "device": "pocl", "sites": {
        "s": {"size": "n", "least": 4, "above": {"version": 0}, "below": {"version": 1}},
        "t": {"sizes": ["n", "m"], "versions": [[1, 2, 0], [3, 4, 1]]},
        "u": {"sizes": ["n"], "ratios": [[[1], [1.0, 2.0]]]}}}}, indent=1).encode()
RESULT = {"timestamp": "now", "configuration": {"a": 1, "dataset": "d"}, "objectives": ["time"],
          "times": {"runtimes": [1.5, 2.0]}, "invalidity": "correct", "correctness": 1,
          "measurements": [{"name": "time", "value": 1.75, "unit": "ms"}]}
T4 = json.dumps({"schema_version": "1.0.0", "metadata": {"device": "pocl"},
                 "results": [RESULT, {**RESULT, "invalidity": "runtime"}]}).encode()
BLOCK = b"""-- A test.
-- ==
-- tags { a b }
-- entry: main f
-- "x" input { [1, 2] 3i64 } output { 5 }
-- random input { [10]i32 5i64 } auto output
-- input @ data.in
-- error: Error.*
-- script input { $loaddata "x" } output @ file
"""


PROGRAM = b"""-- Row sums of products.
def dot [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 0 (map2 (*) xs ys)
entry main [n][m] (xss: [n][m]f32) (ys: [m]f32): [n]f32 =
  let zs = loop zs = ys for i < 3 do map (\\z -> if z > 2.5e3 then z - 1 else z * f32.i64 i) zs
  in map (\\xs -> match dot xs zs case 0 -> 1 case x -> -x) xss
"""
RULES = b"""-- A sum of two is that of the other two.
rule turned (x: i32) (y: i32): i32 = (x + y) * 3i32  ==>  (y + x) * 3i32
"""
SCHEDULE = b"""-- of p.fut
main.ys split_join(16)
fuse
or
main.ys split_join(8)
"""
FINAL = [{"entry": "main", "dataset": "a", "seconds": {"default": [1.0, 2], "tuned": [1.5]},
          "versions": {"tuned": ["V1"]}}]
TUNED = json.dumps({"program_sha256": "00", "device": "pocl", "final": FINAL}).encode()
RECORDED = json.dumps({"command": ["bench", "a.fut", "--json", "-r", "3"], "result": {"results": [
    {"entry": "main", "dataset": "a", "wall": [1e-3, 2e-3]}]}}).encode()


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _npz() -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, np.arange(6).reshape(2, 3), np.array([True]), np.float32(2))
    return out.getvalue()


_ARRAYS = [np.arange(6, dtype=np.int16).reshape(2, 3), np.float64(1.5), np.array([True, False]),
           np.zeros((0, 4), np.uint8)]


def _facts(path: Path) -> None:
    tuning = path.with_name("x.tuning")
    tuning.write_text("a=1\n")
    facts_path(tuning).write_bytes(path.read_bytes())
    found = read_facts(facts_path(tuning))
    names_in(tuning)
    try:
        for raw in found["guards"]["sites"].values():
            from_json(raw)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        pass  # as its only caller


def _cache_entry(path: Path) -> None:
    folder = disk.cache_folder() / "fuzzed"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "entry").write_bytes(path.read_bytes())
    disk.load("fuzzed", "entry")


def _log(path: Path) -> None:
    read_log(path)
    made_for(path)


def _program(path: Path) -> None:
    load(read_source(path), Names())


def _compared(path: Path) -> None:
    """As in 'runelift tune-compare A B'."""
    for name in ("x.tuning", "y.tuning"):
        tuning = path.with_name(name)
        tuning.write_text("a=1\n")
        facts_path(tuning).write_bytes(path.read_bytes() if name[0] == "x" else TUNED)
    render_two(two_tunings(path.with_name("x.tuning"), path.with_name("y.tuning")))


def _recorded(path: Path) -> None:
    recorded = rerun._read(path)
    list(rerun.doubtful(rerun.without_files(rerun.command_of(recorded, path))))
    list(rerun._times(recorded.get("result"), json.loads(RECORDED)["result"]))


@dataclass(frozen=True)
class Kind:
    """A kind of file: right contents, and the function that reads one."""

    seeds: tuple[bytes, ...]
    read: Callable[[Path], object]


KINDS = {
    "text": Kind((TEXT,), load_values),
    "binary": Kind((format_values(_ARRAYS, binary=True),), load_values),
    "npy": Kind(tuple(map(_npy, [*_ARRAYS, np.asfortranarray(np.arange(4.0).reshape(2, 2)),
                                 np.arange(3, dtype=">i4")])), load_values),
    "npz": Kind((_npz(),), load_values),
    "gz": Kind((gzip.compress(TEXT), gzip.compress(_npz()),
                gzip.compress(format_values(_ARRAYS, binary=True))), load_values),
    "tuning": Kind((b"-- a comment\nmain.suff_outer_par_0=4096\nx = 7\n",), read_tuning),
    "facts": Kind((FACTS,), _facts),
    "log": Kind((LOG,), _log),
    "t4": Kind((T4,), lambda path: best_configuration(read_t4(path).results)),
    "blocks": Kind((BLOCK,), lambda path: parse_blocks(
        Source("x.fut", path.read_bytes().decode(errors="replace")))),
    "program": Kind((PROGRAM,), _program),
    "rules": Kind((RULES,), lambda path: load_rules(read_source(path))),
    "schedule": Kind((SCHEDULE,), lambda path: read_schedule(read_source(path))),
    "tuned": Kind((TUNED,), _compared),
    "result": Kind((RECORDED,), _recorded),
    "cache": Kind((bytes(32) + b"content",), _cache_entry),
}

PIECES = [b"", b"\0", b"\xff" * 8, b"[", b"]" * 3, b"[" * 3000, b"{" * 3000, b"-1", b"9" * 30,
          b"1" * 5000, b"1e999", b"null", b"true", b'"x"', b"{}", b"[]", b"NaN", b"\r\n", b"\n",
          b"\x1b[2J", b"\xe2\x80\xae", b"0x", b"1i64", b"-5", b"0", b"(", b"'<f8'", b"'|O'",
          (1 << 62).to_bytes(8, "little"), b"0.5", b"\x7f", b"--", b"=", b"empty([0][" + b"9" * 25]
NUMBER_OR_WORD = rb"-?[\d.]+(?:e-?\d+)?|\"[^\"]*\"|\w+|null|\S"


def mutated(seed: bytes, choose: random.Random) -> bytes:
    """A content with one to four changes."""
    data = bytearray(seed)
    for _ in range(choose.choice((1, 1, 1, 2, 4))):
        at = choose.randrange(len(data) + 1)
        until = min(len(data), at + choose.choice((0, 1, 1, 2, 8, 40)))
        match choose.randrange(6):
            case 0 if data:
                data[at % len(data)] ^= 1 << choose.randrange(8)
            case 1 if data:
                data[at % len(data)] = choose.randrange(256)
            case 2:
                del data[at:until]
            case 3:
                data[at:until] = choose.choice(PIECES)
            case 4:
                other = choose.randrange(len(data) + 1)
                data[at:at] = data[other:other + choose.choice((1, 4, 30))]
            case _:
                _replace_token(data, choose)
    return bytes(data)


def _replace_token(data: bytearray, choose: random.Random) -> None:
    """Replace a number, a text or a word of a file that has such."""
    tokens = list(re.finditer(NUMBER_OR_WORD, bytes(data)))
    if tokens:
        chosen = choose.choice(tokens)
        data[chosen.start():chosen.end()] = choose.choice(PIECES)


def attempt(kind: str, number: int, folder: Path) -> tuple[bytes, BaseException | None]:
    """A mutation by number, and what reading it raised that is no error of the user."""
    choose = random.Random(f"{kind} {number}")
    seed = choose.choice(KINDS[kind].seeds)
    content = mutated(seed, choose)
    if kind == "gz" and choose.random() < 0.7:  # a checksum hides most changes
        content = gzip.compress(mutated(gzip.decompress(seed), choose))
    path = folder / "file"
    path.write_bytes(content)
    try:
        with time_limit(SECONDS), warnings.catch_warnings(action="ignore"):
            KINDS[kind].read(path)
    except (UserError, CompilerLimitation) as error:
        return content, None if len(shortened(str(error))) < 10_000 else error  # as users see it
    except Exception as error:
        return content, error
    return content, None


def main(count: int, kinds: list[str]) -> int:
    """Try many mutations of each kind; the number of those that went wrong."""
    wrong = 0
    for kind in kinds or list(KINDS):
        with tempfile.TemporaryDirectory() as folder:
            began, slowest, failed = time.perf_counter(), 0.0, 0
            for number in range(count):
                before = time.perf_counter()
                content, error = attempt(kind, number, Path(folder))
                slowest = max(slowest, time.perf_counter() - before)
                if error is not None:
                    failed += 1
                    if failed <= 3:
                        print(kind, number, content[:300], *traceback.format_exception(error)[-3:],
                              sep="\n", flush=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"{kind}: {count} mutations, {failed} wrong, {time.perf_counter() - began:.0f} s, "
              f"slowest {slowest:.2f} s, peak {peak} MiB", flush=True)
        wrong += failed
    return wrong


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]) > 0)
