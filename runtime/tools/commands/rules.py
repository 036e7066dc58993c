"""Print the rewrite rules with their laws: the optimiser's, rewrite points, then flattening.

Behind them are the rules, policies, strategies and observers of installed packages.  With --rules,
print the rules of a file instead, after they have been tested.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runelift.ir.base.errors import UserError
from runelift.rewrite.engine.rule import without_marks
from runelift.rewrite.flattening import FLATTENING
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.registry import PASSES
from runelift.runtime.rules.load import load_rules
from runelift.runtime.tools.commands import outside
from runelift.runtime.tools.commands.options import add_options, print_json
from runelift.runtime.tools.commands.rewriting_options import rules_of
from runelift.runtime.tools.commands.styles import columns, show

WIDTH = 96
"""Columns of a listing at most."""
EXAMPLES = ("runelift rules G7", "runelift rules --rules examples/rules/chain.rules")


@dataclass(frozen=True, slots=True)
class _Listed:
    """A rule as it is listed: its pass, its name, its law, and notes by kind."""

    book: str
    name: str
    law: str
    notes: tuple[tuple[str, str], ...] = ()


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift rules``."""
    parser.add_argument("text", nargs="?", default="", metavar="TEXT",
                        help="list only rules of this name, or else with TEXT in pass, name or law")
    parser.add_argument("--rules", metavar="FILE", type=Path,
                        help="print the rules of this file (.rules), which are tested first")
    add_options(parser, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift rules``."""
    file = rules_of(args)
    listed = all_rules() if file is None else (
        _Listed("outside", each.name, each.law, each.notes)
        for each in load_rules(file).points.values())
    found = [rule for rule in listed
             if args.text.lower() in f"{rule.book} {rule.name} {rule.law}".lower()]
    if not found:
        raise UserError(f"No rule contains '{args.text}'.")
    found = [rule for rule in found if args.text.lower() in rule.name.lower().split()] or found
    if args.json:
        print_json([{"book": r.book, "name": r.name, "law": r.law, "notes": dict(r.notes)}
                    for r in found])
        return 0
    book = ""
    width = min(WIDTH, columns(sys.stdout) or WIDTH)
    for rule in found:
        if rule.book != book:
            book = rule.book
            show(f"== {book}\n")
        show(rule.name)
        law = without_marks(textwrap.dedent("    " + rule.law).strip())
        if "\n" not in law:
            law = textwrap.fill(law, width - 4, subsequent_indent="  ", break_on_hyphens=False)
        show(textwrap.indent(law, "    "))
        for kind, said in rule.notes:
            show(textwrap.fill(f"{kind}: {without_marks(said)}", width, initial_indent="    ",
                                subsequent_indent="      "))
        show("")
    return 0


def all_rules() -> Iterator[_Listed]:
    """Every rule of every pass, then the rewrite points and the rules of flattening."""
    for each in PASSES:
        for rule in each.rules:
            yield _Listed(each.name, rule.name, rule.law, rule.notes)
    for point in BOOK.values():
        given = ", ".join(each.name if each.default is None else f"{each.name}={each.default}"
                          for each in point.parameters)
        yield _Listed("rewrite points", f"{point.name}({given})", point.law, point.notes)
    for step in FLATTENING:
        yield _Listed("flattening", f"{step.name} {step.title}", step.law)
    for book, rule in outside.rules():
        yield _Listed(book, rule.name, rule.law, rule.notes)
    for book, name, description in outside.listed():
        yield _Listed(book, name, description)
