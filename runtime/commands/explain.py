"""Print the derivation of the flattening: which rule fired on which expression, what came of
it, and why the other rules did not apply.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from runelift.frontend.load import load, read_source
from runelift.ir.errors import UserError
from runelift.rewrite.flatten import derive
from runelift.rewrite.pipeline import optimise
from runelift.runtime.commands.options import (
    add_entry,
    add_json,
    add_policy,
    add_program,
    add_rewriting,
    existing,
    print_json,
    rewriting_of,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift explain``."""
    add_program(parser)
    add_entry(parser)
    add_policy(parser)
    add_json(parser)
    add_rewriting(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift explain``."""
    rewriting = rewriting_of(args)
    names = rewriting.names
    program = optimise(load(read_source(existing(args.program)), names), names, rewriting)
    _, derivations = derive(program, names, policy=args.policy)
    if args.entry is not None:
        derivations = tuple(d for d in derivations if d.fun == args.entry)
        if not derivations:
            raise UserError(f"Unknown entry point '{args.entry}'.  The program has "
                            f"{', '.join(fun.name for fun in program.funs)}.")
    if args.json:
        print_json({d.fun: [asdict(step) for step in d.steps] for d in derivations})
    else:
        print("\n\n".join(derivation.render() for derivation in derivations))
    return 0
