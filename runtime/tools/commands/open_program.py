"""Programs that the command line names, compiled for a device."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runelift.ir.base.errors import (
    CompilerLimitation,
    UserError,
    VersionUnavailable,
    unknown_entry,
)
from runelift.ir.base.files import require_file
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.version_names import plan_of, with_version_names

if TYPE_CHECKING:
    from runelift.runtime.tools.commands.tuning_request import TuningRequest


def open_program(args: argparse.Namespace, *, tuned: bool = True,
                 settings: Mapping[str, int] | None = None) -> Program:
    """Compile the program of the command line; one that is not ``tuned`` runs elsewhere."""
    return compiled_for(args, require_file(args.program), tuned=tuned, settings=settings,
                        runs=tuned)


def compiled_for(args: argparse.Namespace, path: Path, *, device: str | None = None,
                 tuned: bool = True, settings: Mapping[str, int] | None = None,
                 runs: bool = False) -> Program:
    """Compile a program by the options of the command line, for its device or another one."""
    return compile_program(path, device=device or args.device, policy=args.policy,
                           fp_contract=args.fp_contract,
                           tuning=(getattr(args, "tuning", None) if tuned else {}),
                           memory=getattr(args, "memory", None),
                           settings=settings, runs=runs, rules=args.rules,
                           schedule=getattr(args, "schedule", None))


def pick_entry(program: Program, name: str | None) -> str:
    """The entry point ``name``, or main, or the only one."""
    if name is None:
        name = "main" if "main" in program.entries or len(program.entries) != 1 else (
            program.entries[0])
    if name not in program.entries:
        raise unknown_entry(name, program.entries)
    return name


def require_entry(known: Collection[str]) -> None:
    """Raise UserError if a program has no entry point: there is nothing to do with it."""
    if not known:
        raise UserError("The program has no entry point: declare a function with 'entry'.")


def entries_of(args: argparse.Namespace | TuningRequest, known: Iterable[str]) -> Sequence[str]:
    """The entry points that are asked for; UserError if that is none of the ``known``."""
    entries = tuple(known)
    if args.entry is None:
        return entries
    if args.entry not in entries:
        raise unknown_entry(args.entry, entries)
    return [args.entry]


def forced(args: argparse.Namespace, program: Program, entry: str) -> dict[str, int]:
    """The versions of an entry point that ``--force`` names, by site."""
    force = dict[str, int]()
    for text in args.force:
        force |= plan_of(program.tree.entry(entry), text)
    return force


@contextmanager
def version_names_in_errors(program: Program) -> Iterator[None]:
    """Name versions V1, V2, ... in errors about versions that cannot run."""
    try:
        yield
    except VersionUnavailable as error:
        name = with_version_names(error.version, *program.tree.entries)
        reason = with_version_names(error.reason, *program.tree.entries)
        raise VersionUnavailable(name, reason) from error
    except CompilerLimitation as error:
        text = with_version_names(str(error), *program.tree.entries)
        if text == str(error):
            raise
        raise type(error)(text) from error


def tell_failed_versions(program: Program, *, replaced: bool = True) -> None:
    """Name the versions that failed to build or launch, a line each, on standard error.

    They were not ``replaced`` if a call failed: perhaps no version could run.
    """
    others = ", so others ran in its place" if replaced else ""
    for version, reason in program.loaded.given_up.items():
        name, why = (with_version_names(text, *program.tree.entries)
                     for text in (version, reason.strip().partition("\n")[0]))
        print(f"runelift: {name} could not run{others}: {why}", file=sys.stderr)
