"""Explain which rule of flattening fired where, and why other rules did not apply."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runelift.ir.base import plugins
from runelift.ir.base.policies import disabled_rules
from runelift.ir.syntax import Program
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.flattening import Step
from runelift.rewrite.pipeline import expanded
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.tools.commands import outside
from runelift.runtime.tools.commands.explained_program import compiled_source
from runelift.runtime.tools.commands.open_program import entries_of
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.rewriting_options import rewriting_of
from runelift.runtime.tools.commands.styles import show


def explain(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain FILE``."""
    rewriting = rewriting_of(args)
    if plugins.declared(plugins.RULES):  # then their firings are counted, in all entry points
        rewriting.trace = rewriting.trace or (lambda *_: None)
    compiled = compiled_source(args, path, rewriting)
    asked = entries_of(args, (each.fun for each in compiled.derivations))
    derivations = [each for each in compiled.derivations if each.fun in asked]
    foreign = outside.used(args.policy, rewriting.fired)
    if args.json:
        print_json({d.fun: [_facts(step) for step in d.steps] for d in derivations})
    else:
        if lines := list(_derived(args, compiled)):
            show("\n".join([*lines, ""]))
        show("\n\n".join(derivation.render() for derivation in derivations))
        if foreign:
            show("\n".join(["", "from outside", *(f"  {line}" for line in foreign)]))


def _derived(args: argparse.Namespace, compiled: Compiled) -> Iterator[str]:
    """A line for each operator of derivatives, with the rules that expand it."""
    rewriting = Rewriting(copy(compiled.names), disabled_rules(args.policy))
    funs = [fun for fun in compiled.core.funs if args.entry in (None, fun.name)]
    expanded(Program(tuple(funs)), rewriting.names, rewriting)
    for stm, rules in rewriting.derived:
        names = ", ".join(p.name.base for p in stm.pat)
        place = f"  [{stm.loc.line}:{stm.loc.column}]" if stm.loc else ""
        yield (f"{type(stm.exp).__name__.lower()} → {names}: derived by "
               f"{', '.join(sorted(rules)) or 'no rule'}{place}")


def _facts(step: Step) -> dict[str, Any]:
    """A step for ``--json``: its expressions are printed as by ``dump``."""
    return {"depth": step.depth, "rule": step.rule, "fired": step.fired, "what": step.what,
            "note": step.note, "loc": None if step.loc is None else asdict(step.loc)}
