"""``runelift autotune``: measure every version and tune the thresholds."""

from __future__ import annotations

import argparse
import sys

from runelift.ir.errors import UserError
from runelift.runtime.commands.options import (
    add_device,
    add_json,
    add_program,
    compile_file,
    datasets,
    print_json,
)
from runelift.runtime.tuner.autotune import tune
from runelift.runtime.tuner.tuning_file import tuning_path, write_tuning


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_program(parser)
    parser.add_argument("--runs", type=int, default=3, help="repeats of each run (default: 3)")
    parser.add_argument("--only", help="tune for datasets whose name contains this")
    add_json(parser)
    add_device(parser)


def run(options: argparse.Namespace) -> int:
    """Tune, write FILE.tuning and print the report."""
    out = options.tuning or tuning_path(options.file)
    options.tuning = None
    program = compile_file(options)
    if program.device_info is None:
        raise UserError("There is no device to tune for.")
    chosen = {f"{c.entry} {c.name}" if len(program.entries) > 1 else c.name:
              (c.entry, c.arguments())
              for c in datasets(options.file, without="notune")
              if (options.only is None or options.only in c.name) and not c.name.startswith("#")}
    if not chosen:
        raise UserError(f"'{options.file}' has no named dataset to tune for; name one in a test "
                        'block: -- "name" random input { ... }.')
    log = out.with_name(out.name + ".log")
    log.unlink(missing_ok=True)

    def progress(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    result = tune(program, chosen, repeats=options.runs, log_path=log, progress=progress)
    progress("")
    if not result.log.entries:
        print("interrupted before a dataset was measured; nothing is written", file=sys.stderr)
        return 130
    write_tuning(out, result.thresholds, result.facts())
    if options.json:
        print_json(result.facts())
    else:
        print(result.render())
        print(f"written to {out}")
    return 0 if result.complete else 130
