"""Options for the rules of the optimiser, shared by commands that show what they do."""

from __future__ import annotations

import argparse
import sys

from runelift.frontend.rule_files import read_rules
from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_source, require_file
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.ir.pretty import pretty_stm
from runelift.ir.syntax import Stm
from runelift.rewrite.engine.rule import Rewriting, Rule, Trace
from runelift.rewrite.registry import require_rules


def add_rewriting(parser: argparse.ArgumentParser) -> None:
    """Add options that limit and trace the optimiser.

    ``--disable`` is among :data:`options.REWRITING`.
    """
    group = parser.add_argument_group("rewrite rules ('runelift rules' lists them)")
    group.add_argument("--fuel", metavar="N", type=int,
                       help="stop rewriting after rules have fired N times")
    group.add_argument("--trace-rules", action="store_true",
                       help="show every firing of a rule on standard error")
    group.add_argument("--trace-rule", metavar="RULE", action="append", default=[],
                       help="show every firing of this rule only; may be repeated")


def rules_of(args: argparse.Namespace) -> Source | None:
    """The file of rules from outside that the command line names."""
    return None if args.rules is None else read_source(require_file(args.rules))


def rewriting_of(args: argparse.Namespace) -> Rewriting:
    """The rewriting that the options of :func:`add_rewriting` ask for."""
    if args.fuel is not None and args.fuel < 0:
        raise UserError("--fuel cannot be negative.")
    if args.trace_rule:
        file = rules_of(args)
        require_rules(args.trace_rule,
                      () if file is None else (each.name for each in read_rules(file).rules))
    return Rewriting(Names(), fuel=args.fuel, trace=_trace(args))


def _trace(args: argparse.Namespace) -> Trace | None:
    """A trace of the firings that the options ask for; None if they ask for none."""
    if args.trace_rules or not args.trace_rule:
        return print_firing if args.trace_rules else None
    return lambda rule, before, after: (
        print_firing(rule, before, after) if rule.name in args.trace_rule else None)


def print_firing(rule: Rule, before: tuple[Stm, ...], after: tuple[Stm, ...]) -> None:
    """Show what a rule did, on standard error."""
    def lines(sign: str, stms: tuple[Stm, ...]) -> list[str]:
        return [f"  {sign} {line}" for stm in stms for line in pretty_stm(stm).splitlines()]

    print("\n".join([f"{rule.name}:", *lines("-", before), *lines("+", after)]),
          file=sys.stderr)
