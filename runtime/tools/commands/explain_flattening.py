"""Explain which rule of flattening fired where, and why other rules did not apply."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runelift.ir.base import plugins
from runelift.ir.base.errors import unknown_entry
from runelift.rewrite.flattening import Step
from runelift.runtime.tools.commands import outside
from runelift.runtime.tools.commands.explained_program import compiled_source
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.rewriting_options import rewriting_of
from runelift.runtime.tools.commands.styles import show


def explain(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain FILE``."""
    rewriting = rewriting_of(args)
    if plugins.declared(plugins.RULES):  # then their firings are counted, in all entry points
        rewriting.trace = rewriting.trace or (lambda *_: None)
    compiled = compiled_source(args, path, rewriting)
    derivations = compiled.derivations
    foreign = outside.used(args.policy, rewriting.fired)
    if args.entry is not None:
        derivations = tuple(d for d in derivations if d.fun == args.entry)
        if not derivations:
            raise unknown_entry(args.entry, compiled.interfaces)
    if args.json:
        print_json({d.fun: [_facts(step) for step in d.steps] for d in derivations})
    else:
        show("\n\n".join(derivation.render() for derivation in derivations))
        if foreign:
            show("\n".join(["", "from outside", *(f"  {line}" for line in foreign)]))


def _facts(step: Step) -> dict[str, Any]:
    """A step for ``--json``: its expressions are printed as by ``dump``."""
    return {"depth": step.depth, "rule": step.rule, "fired": step.fired, "what": step.what,
            "note": step.note, "loc": None if step.loc is None else asdict(step.loc)}
