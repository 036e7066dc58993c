"""Time a folder of Futhark programs beside the same programs compiled by Futhark.

``python benchmarks/collection.py FOLDER --peers PEERS --build --futhark FUTHARK`` compiles them.
``python benchmarks/collection.py FOLDER --peers PEERS --json FILE [--device NAME]`` measures the
rows that FILE does not have, for at most ``--budget`` seconds, and prints the tables of FILE.
``python benchmarks/collection.py --json FILE...`` prints the tables of all files together.

A row is a dataset of an entry point.  Datasets come from the test blocks, or with ``--rows`` from
``compare.py``.  Missing files of data are generated (``collection_data.py``).  The peer, our
default and our forced versions take turns on equal data.  Times are medians of microseconds for a
call with inputs and results on the device.  With ``--tuned``, ours is also tuned for each row.  So
is the peer, by ``NAME.tuning`` in PEERS where there is such a file.

Each program runs in another process, with empty caches.  With ``--jobs``, several are compiled and
built at a time; one of them has the device.  ``cold`` is the time until its first result, Python's
own start left out; with ``--jobs`` it has what the other builds cost.  ``host`` is the part of our
default's time in which no kernel ran; ``bytes`` counts the bytes of inputs and results together.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from collection_data import values_for
from collection_parts import PEER_CACHE, Part, Turns, messages
from collection_report import joined, print_tables, with_least
from collection_row import TimedRow, prebuild
from compare import ROWS, arguments
from peers import Peer, build, compiled_name

import runelift
from runelift.ir.base.errors import RuneliftError, UserError
from runelift.ir.base.files import read_source
from runelift.runtime.data.dataset import Generator, RandomArray
from runelift.runtime.tools.commands.bench import EXCLUDED_TAGS
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import Case, Random, datasets_of, parse_blocks

LIBRARIES = "lib"
"""The folder of packages that programs import."""
BUILD_LIMIT = 300.0
PEER_SHARE = 0.8
"""The part of a row's time limit that the peer may take for a command."""
LOOP = 10_000_000


class Row(NamedTuple):
    """One input of an entry point; ``values`` makes it."""

    entry: str
    label: str
    values: Callable[[], Sequence[Any]]


def main() -> None:
    """Compile the peers, or measure and print."""
    options = _options()
    if options.folder is None:
        _print(options)
        return
    programs = _programs(options)
    if options.build:
        _build_all(options, programs)
        return
    if options.peers is None or len(options.json) != 1:
        raise SystemExit("Name the compiled peers (--peers) and one file of results (--json).")
    _measure_all(options, programs)
    _print(options)


def _print(options: argparse.Namespace) -> None:
    found = joined(options.json)
    print_tables(with_least(found) if options.least else found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--peers", type=Path, help="the folder of compiled programs")
    parser.add_argument("--build", action="store_true", help="compile the peers, measure nothing")
    parser.add_argument("--futhark", default="futhark")
    parser.add_argument("--json", type=Path, nargs="+", default=[], help="results; also read")
    parser.add_argument("--device")
    parser.add_argument("--peer-device", help="what the peer calls the device")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN",
                        help="programs to measure, in this order, such as 'rodinia/*'")
    parser.add_argument("--except", dest="without", nargs="+", default=[], metavar="PATTERN")
    parser.add_argument("--dataset", default="", help="a part of the names of rows to measure")
    parser.add_argument("--rows", action="store_true", help="the datasets of compare.py")
    parser.add_argument("--most-bytes", type=float, default=float("inf"),
                        help="leave out larger inputs")
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--least", action="store_true",
                        help="compare the least times instead of medians, on a loaded host")
    parser.add_argument("--forced", type=float, default=20.0, metavar="SECONDS",
                        help="at most, for the forced versions of a row (default: %(default)g)")
    parser.add_argument("--jobs", type=int, default=1,
                        help="prepare so many programs at a time (default: %(default)s)")
    parser.add_argument("--each", type=float, default=120.0, metavar="SECONDS",
                        help="begin no new row of a program after them (default: %(default)g)")
    parser.add_argument("--row-limit", type=float, default=120.0, metavar="SECONDS",
                        help="end a row that takes longer (default: %(default)g)")
    parser.add_argument("--budget", type=float, default=570.0, metavar="SECONDS",
                        help="in all (default: %(default)g)")
    return parser.parse_args()


# Programs


def _programs(options: argparse.Namespace) -> dict[str, Path]:
    """The programs with datasets, in the order of ``--only``, by their path without suffix."""
    found: dict[str, Path] = {}
    names = {str(path.relative_to(options.folder).with_suffix("")): path
             for path in sorted(options.folder.rglob("*.fut"))
             if LIBRARIES not in path.relative_to(options.folder).parts}
    for pattern in options.only:
        for name, path in names.items():
            if fnmatch.fnmatch(name, pattern) and not any(
                    fnmatch.fnmatch(name, each) for each in options.without):
                found.setdefault(name, path)
    return {name: path for name, path in found.items() if _has_rows(options, path)}


def _has_rows(options: argparse.Namespace, path: Path) -> bool:
    if options.rows:
        return any(row[0] == path.stem for row in ROWS)
    try:
        blocks = parse_blocks(read_source(path))
    except RuneliftError as error:
        print(f"{path}: {str(error).splitlines()[0]}", file=sys.stderr)
        return False
    return any(not (case.tags | block.tags) & EXCLUDED_TAGS
               for block in blocks for case in block.cases)


def _build_all(options: argparse.Namespace, programs: Mapping[str, Path]) -> None:
    options.peers.mkdir(parents=True, exist_ok=True)
    for name, path in programs.items():
        target = options.peers / compiled_name(name)
        if not target.exists():
            started = time.perf_counter()
            error = build(options.futhark, path, target, BUILD_LIMIT)
            print(f"{name:40}{time.perf_counter() - started:8.1f} s  {error or ''}", flush=True)


def _rows_of(options: argparse.Namespace, program: Any, path: Path) -> Iterator[Row]:
    """The rows of a program."""
    if options.rows:
        for row, entry, label, specs, *_ in ROWS:
            if row == path.stem:
                yield Row(entry, label, partial(arguments, program, specs))
        return
    made: dict[tuple[int, str], Any] = {}
    for entry in program.entries:
        for case in datasets_of(program.compiled.source, entry, EXCLUDED_TAGS):
            yield Row(entry, case.dataset, partial(_values, program, entry, case, made))


def _values(program: Any, entry: str, case: Case, made: dict[tuple[int, str], Any]) -> list[Any]:
    """The input of a case.  Arrays of random numbers are taken from the row before, if they fit.

    ``made`` holds these arrays by their place and type.
    """
    prims = [param.prim for param in program.interface(entry).params]
    if isinstance(case.input, Path) and not case.input.exists():
        found = values_for(case.input)
        if found is None:
            raise UserError(f"'{case.input}' is missing, and nothing generates its data")
        return found
    if isinstance(case.input, Random):
        drawn = Generator().recipes(case.input.specs)
        keys = [(place, str(spec)) for place, spec in enumerate(case.input.specs)]
        values = [made.get(key, value) if isinstance(value, RandomArray) else value
                  for key, value in zip(keys, drawn, strict=True)]
        values = [np.asarray(value) if isinstance(value, RandomArray) else value
                  for value in values]
        made.clear()
        made.update((key, value) for key, value in zip(keys, values, strict=True)
                    if np.ndim(value))
    else:
        scripts = partial(evaluate, program=program.compiled.source, device=program.device_info)
        values = case.arguments(scripts, prims)
    return [value if np.ndim(value) or prim is None else np.asarray(value).astype(prim.dtype)[()]
            for value, prim in zip(values, prims, strict=True)]


# Measuring


def _measure_all(options: argparse.Namespace, programs: Mapping[str, Path]) -> None:
    """Measure programs in turn until all is measured or the budget is spent."""
    target: Path = options.json[0]
    started = time.perf_counter()
    sittings = json.loads(target.read_text()) if target.exists() else []
    known = joined([target]) if sittings else None
    done = {(row["program"], row["entry"], row["dataset"])
            for row in (known["rows"] if known else [])}
    sitting: dict[str, Any] = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                               "loop": _loop_seconds(), "device": None, "rows": [], "cold": {}}
    waiting = {name: path for name, path in programs.items() if _has_peer(options, name)}
    caches = Path(tempfile.mkdtemp())

    def following() -> Part | None:
        if not waiting:
            return None
        name = next(iter(waiting))
        work = partial(_measure, options, name, waiting.pop(name), set(done))
        return Part(name, caches / compiled_name(name), work)

    begun: dict[str, dict[str, Any]] = {}
    for part, message in messages(following, options.jobs, started + options.budget,
                                  options.row_limit):
        name = part.program
        if message is None:
            if (row := begun.pop(name, None)) is not None:
                message = {"row": {**row, "error": part.last_words or "ended"}}
                waiting[name] = programs[name]
            else:
                continue
        if "begun" in message:
            begun[name] = message["begun"]
        elif "row" in message:
            begun.pop(name, None)
            row = message["row"]
            done.add((name, row["entry"], row["dataset"]))
            sitting["rows"].append(row)
            _show(row)
        elif "cold" in message:
            sitting["cold"].setdefault(name, message["cold"])
        elif "device" in message:
            sitting["device"] = message["device"]
        elif message["left"]:
            waiting[name] = programs[name]  # the rest of its rows, after the other programs
        target.write_text(json.dumps([*sittings, sitting], indent=1) + "\n")
    shutil.rmtree(caches, ignore_errors=True)


def _has_peer(options: argparse.Namespace, name: str) -> bool:
    found = (options.peers / compiled_name(name)).exists()
    if not found:
        print(f"{name:40}no compiled peer")
    return found


def _loop_seconds() -> float:
    """The seconds of ten million additions in Python: the speed of the host."""
    started, total = time.perf_counter(), 0
    for number in range(LOOP):
        total += number
    return time.perf_counter() - started


def _show(row: Mapping[str, Any]) -> None:
    label = f"{row['program']} {row['entry']} {row['dataset']}"[:70]
    if "error" in row:
        print(f"{label:70} {row['error'][:110]}", flush=True)
        return
    print(f"{label:70}{row['peer']:>10.0f}{row['default']:>10.0f}{row['best']:>10.0f}"
          f"{row['peer'] / row['default']:>8.2f}{row['peer'] / row['best']:>7.2f}", flush=True)


def _measure(options: argparse.Namespace, name: str, path: Path,
             done: set[tuple[str, str, str]], turns: Turns) -> None:
    """Measure the rows of a program that are not done, and send them."""
    started = time.perf_counter()
    compiled = options.peers / compiled_name(name)
    chosen = [f"--cache-file={os.environ[PEER_CACHE]}"]
    if options.peer_device:
        chosen.append(f"--device={options.peer_device}")
    tunings: dict[str, Mapping[str, int]] = {}
    limit = PEER_SHARE * options.row_limit  # so that it is the peer that is told of
    with ThreadPoolExecutor() as pool, ExitStack() as servers:
        starting = pool.submit(Peer, compiled, chosen, limit)  # both at the same time
        try:
            program = runelift.compile(path, device=options.device, tuning={})
            compile_seconds = time.perf_counter() - started
            peer = servers.enter_context(starting.result())
        except RuneliftError as error:
            turns.send(row={"program": name, "entry": "", "dataset": "",
                            "error": str(error).splitlines()[0]})
            return
        turns.send(device=program.device_info.label if program.device_info else "none")
        peers = {"peer": peer}
        tuning = compiled.with_suffix(".tuning")
        if options.tuned and tuning.exists():
            peers["peer_tuned"] = servers.enter_context(
                Peer(compiled, [*chosen, f"--tuning={tuning}"], limit))
        cold, spent, build_seconds = True, 0.0, 0.0
        for row in _rows_of(options, program, path):
            if (name, row.entry, row.label) in done or options.dataset not in row.label:
                continue
            if spent > options.each:
                turns.send(left=True)
                return
            found = {"program": name, "entry": row.entry, "dataset": row.label}
            turns.send(begun=found)
            try:
                values = row.values()
                if _size(values) > options.most_bytes:
                    turns.send(begun=None)
                    continue
                if not cold or options.jobs > 1:
                    build_seconds = prebuild(program, row.entry, values, options.forced)
                turns.wait()
                thresholds = _tuned(options, program, path, row, tunings)
                started = time.perf_counter()
                timed = TimedRow(program, peers, row.entry, values)
                if cold:
                    ours = compile_seconds + build_seconds + timed.first_seconds
                    turns.send(cold={"ours": ours,
                                     "compile": compile_seconds,
                                     "peer": peer.start_seconds + timed.peer_first_seconds})
                    cold = False
                found |= timed.measure(options.forced, thresholds)
                spent += time.perf_counter() - started
            except RuneliftError as error:
                found["error"] = str(error).splitlines()[0]
            turns.send(row=found)
    turns.send(left=False)


def _tuned(options: argparse.Namespace, program: Any, path: Path, row: Row,
           tunings: dict[str, Mapping[str, int]]) -> Mapping[str, int] | None:
    """Thresholds tuned for the rows of an entry point, if they are asked for."""
    if options.tuned and row.entry not in tunings:
        inputs = {each.label: each.values() for each in _rows_of(options, program, path)
                  if each.entry == row.entry}
        program.tune({label: values for label, values in inputs.items()
                      if _size(values) <= options.most_bytes}, entry=row.entry)
        tunings[row.entry], program.thresholds = program.thresholds, {}
    return tunings.get(row.entry)


def _size(values: Sequence[Any]) -> int:
    """The bytes of values."""
    return sum(int(np.asarray(each).nbytes) for each in values)


if __name__ == "__main__":
    main()
