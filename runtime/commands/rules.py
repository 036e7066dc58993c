"""``runelift rules``: the rule book."""

from __future__ import annotations

import argparse

from runelift.rewrite.flatten import FLATTENING
from runelift.rewrite.simplify import SIMPLIFICATION
from runelift.runtime.commands.options import add_json, print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print every rule with its law."""
    if options.json:
        print_json([{"rule": r.name, "title": r.title, "law": r.law} for r in FLATTENING]
                   + [{"rule": r.name, "title": r.name, "law": r.law}
                      for r in SIMPLIFICATION.rules])
        return 0
    print("Flattening\n")
    for rule in FLATTENING:
        law = rule.law.split("\n\n")[0]
        print(f"{rule.name}  {rule.title.replace('_', ' ')}\n    {law}\n")
    print("Simplification\n")
    for simple in SIMPLIFICATION.rules:
        print(f"{simple.name.replace('_', ' ')}\n    {simple.law}\n")
    return 0
