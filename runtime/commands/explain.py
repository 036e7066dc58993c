"""``runelift explain``: the derivation of a flattening."""

from __future__ import annotations

import argparse

from runelift.frontend.load import read_source
from runelift.runtime.commands.options import add_json, add_program, print_json
from runelift.runtime.compiler import compile_source


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_program(parser)
    parser.add_argument("--policy", default="all", choices=["all", "classic", "moderate"])
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the derivation of each entry point."""
    compiled = compile_source(read_source(options.file), policy=options.policy)
    if options.json:
        print_json([{"entry": d.fun, "steps": [
            {"depth": s.depth, "rule": s.rule, "fired": s.fired, "what": s.what, "note": s.note,
             "line": s.loc.line if s.loc else None} for s in d.steps]}
            for d in compiled.derivations])
        return 0
    print("\n\n".join(d.render() for d in compiled.derivations))
    return 0
