"""Rules from outside for a compilation, which seldom has any."""

from __future__ import annotations

from importlib import import_module

from runelift.ir.base.source import Source
from runelift.rewrite.lift.outside.apply import OutsideRules

NO_RULES = OutsideRules()


def load_rules(source: Source | None) -> OutsideRules:
    """The rules of a file, all of which are right; ProgramError with what is wrong with them."""
    if source is None:
        return NO_RULES
    # by its name, as the command line imports commands: it tests rules in the interpreter
    found: OutsideRules = import_module("runelift.runtime.rules.read").read(source)
    return found
