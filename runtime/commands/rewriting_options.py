"""Options for the rules of the optimiser, shared by commands that show what they do."""

from __future__ import annotations

import argparse
import difflib
import sys

from runelift.frontend.rule_files import read_rules
from runelift.ir.errors import UserError
from runelift.ir.files import read_source, require_file
from runelift.ir.names import Names
from runelift.ir.pretty import pretty_stm
from runelift.ir.source import Source
from runelift.ir.syntax import Stm
from runelift.rewrite.engine.rule import Rewriting, Rule
from runelift.rewrite.passes.simplify import further_rules
from runelift.rewrite.registry import PASSES, RULES


def add_rewriting(parser: argparse.ArgumentParser) -> None:
    """Options that limit and trace the optimiser."""
    group = parser.add_argument_group("rewrite rules ('runelift rules' lists them)")
    group.add_argument("--disable", metavar="RULE", action="append", default=[],
                       help="leave out a rule or a whole pass; may be repeated")
    group.add_argument("--fuel", metavar="N", type=int,
                       help="stop rewriting after rules have fired N times")
    group.add_argument("--trace-rules", action="store_true",
                       help="show every firing of a rule on standard error")


def rules_of(args: argparse.Namespace) -> Source | None:
    """The file of rules from outside that the command line names."""
    return None if args.rules is None else read_source(require_file(args.rules))


def rewriting_of(args: argparse.Namespace) -> Rewriting:
    """The rewriting that the options of :func:`add_rewriting` ask for."""
    known = {each.name for each in PASSES} | {each.name for each in RULES}
    known |= further_rules().keys()
    if args.disable and (rules := rules_of(args)) is not None:
        known |= {each.name for each in read_rules(rules).rules}
    for name in args.disable:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UserError(f"No rule or pass is called '{name}'."
                            + (f"  Did you mean '{near[0]}'?" if near else
                               "  'runelift rules' lists them."))
    if args.fuel is not None and args.fuel < 0:
        raise UserError("--fuel cannot be negative.")
    return Rewriting(Names(), frozenset(args.disable), args.fuel,
                     print_firing if args.trace_rules else None)


def print_firing(rule: Rule, before: tuple[Stm, ...], after: tuple[Stm, ...]) -> None:
    """Show what a rule did, on standard error."""
    def lines(sign: str, stms: tuple[Stm, ...]) -> list[str]:
        return [f"  {sign} {line}" for stm in stms for line in pretty_stm(stm).splitlines()]

    print("\n".join([f"{rule.name}:", *lines("-", before), *lines("+", after)]),
          file=sys.stderr)
