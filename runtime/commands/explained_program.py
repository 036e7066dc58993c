"""The program that ``runelift explain`` is about, compiled as far as an explanation needs it."""

from __future__ import annotations

import argparse
from pathlib import Path

from runelift.ir.files import read_source
from runelift.rewrite.engine.rule import Rewriting
from runelift.runtime.commands.rewriting_options import rewriting_of, rules_of
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.compile import compile as compile_program
from runelift.runtime.program import Program
from runelift.runtime.versions.tuning_file import schedule_of


def planned_program(args: argparse.Namespace, path: Path) -> Program:
    """The program for a device, untuned; it does not run here."""
    return compile_program(path, device=args.device, tuning={}, policy=args.policy, runs=False,
                           rules=args.rules, schedule=args.file)


def compiled_source(args: argparse.Namespace, path: Path, rewriting: Rewriting | None = None
                    ) -> Compiled:
    """The program without a device, by a watched optimiser."""
    return compile_source(read_source(path), policy=args.policy,
                          rewriting=rewriting or rewriting_of(args),
                          rules=rules_of(args), schedule=schedule_of(args.file))
