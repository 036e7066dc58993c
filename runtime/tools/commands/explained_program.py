"""The program that ``runelift explain`` is about, compiled as far as an explanation needs it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from runelift.ir.base.files import read_source
from runelift.rewrite.engine.rule import Rewriting
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.outline import arguments_of_sizes, assigned
from runelift.runtime.predictions.predict import outlined
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.open_program import require_entry
from runelift.runtime.tools.commands.rewriting_options import rewriting_of, rules_of
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import datasets_of
from runelift.runtime.versions.tuning_file import schedule_of


def planned_program(args: argparse.Namespace, path: Path) -> Program:
    """The program compiled for a device, without a tuning file; it cannot be run."""
    made = compile_program(path, device=args.device, tuning={}, policy=args.policy, runs=False,
                           rules=args.rules, schedule=args.file)
    require_entry(made.entries)
    return made


def compiled_source(args: argparse.Namespace, path: Path, rewriting: Rewriting | None = None
                    ) -> Compiled:
    """The program without a device, by a watched optimiser."""
    made = compile_source(read_source(path), policy=args.policy,
                          rewriting=rewriting or rewriting_of(args),
                          rules=rules_of(args), schedule=schedule_of(args.file))
    require_entry(made.interfaces)
    return made


def inputs_of(loaded: LoadedProgram, entry: str, sizes: Sequence[str], only: str | None
              ) -> dict[str, list[Any]]:
    """Arguments by name: of ``sizes`` if any, else of datasets.

    Only the lengths that decide have elements.
    """
    compiled, interface = loaded.compiled, loaded.interface(entry)
    if sizes:
        return {", ".join(sizes): arguments_of_sizes(interface, assigned(sizes))}
    here = loaded.info if loaded.info is not None and loaded.info.handle is not None else None
    scripts = partial(evaluate, program=compiled.source, device=here)
    types = [param.prim for param in interface.params]
    return {case.dataset: outlined(loaded, entry, case.recipes(scripts, types))
            for case in datasets_of(compiled.source, entry)
            if only is None or only in case.dataset}
