"""Print the rewrite rules with their laws: those of the simplifier, then the flattening."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import runelift.rewrite.rules as books
from runelift.ir.errors import UserError
from runelift.rewrite.flatten import FLATTENING
from runelift.rewrite.rule import Rule
from runelift.runtime.commands.options import add_json, print_json


@dataclass(frozen=True, slots=True)
class Listed:
    """A rule as it is listed: the book it stands in, its name, and its law."""

    book: str
    name: str
    law: str


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift rules``."""
    parser.add_argument("pattern", nargs="?", default="",
                        help="list only rules whose name or law contains this text")
    add_json(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift rules``."""
    found = [rule for rule in all_rules()
             if args.pattern.lower() in f"{rule.book} {rule.name} {rule.law}".lower()]
    if not found:
        raise UserError(f"No rule contains '{args.pattern}'.")
    if args.json:
        print_json([{"book": r.book, "name": r.name, "law": r.law} for r in found])
        return 0
    book = ""
    for rule in found:
        if rule.book != book:
            book = rule.book
            print(f"== {book}\n")
        print(rule.name)
        print(textwrap.indent(textwrap.dedent("    " + rule.law).strip(), "    ") + "\n")
    return 0


def all_rules() -> Iterator[Listed]:
    """Every rule of every book."""
    for info in pkgutil.iter_modules(books.__path__, books.__name__ + "."):
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, Rule) and value.apply.__module__ == info.name:
                yield Listed(info.name.rpartition(".")[2], value.name, value.law)
    for rule in FLATTENING:
        yield Listed("flattening", f"{rule.name} {rule.title}", rule.law)
