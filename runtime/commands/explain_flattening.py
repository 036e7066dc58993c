"""Explain which rule of flattening fired where, and why others did not apply."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from runelift.ir import plugins
from runelift.ir.errors import unknown_entry
from runelift.runtime.commands import outside
from runelift.runtime.commands.explained_program import compiled_source
from runelift.runtime.commands.options import print_json
from runelift.runtime.commands.rewriting_options import rewriting_of


def explain(args: argparse.Namespace, path: Path) -> None:
    """``runelift explain FILE``."""
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
        print_json({d.fun: [asdict(step) for step in d.steps] for d in derivations})
    else:
        print("\n\n".join(derivation.render() for derivation in derivations))
        if foreign:
            print("\n".join(["", "from outside", *(f"  {line}" for line in foreign)]))
