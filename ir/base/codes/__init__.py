"""Every code of an error or warning: its meaning, a program that shows it, and its cure.

``runelift explain CODE`` prints them, ``docs/errors.md`` is made of them, and SARIF lists them as
rules.  Nothing else imports this package: code that reports an error names its code
(:data:`runelift.ir.base.errors.Code`).
"""

from __future__ import annotations

from runelift.ir.base.codes import (
    arrays,
    data,
    modules,
    names,
    points,
    rules,
    running,
    syntax,
    types,
)
from runelift.ir.base.codes.explanation import Explanation

GROUPS = {
    "Syntax": syntax.CODES,
    "Names": names.CODES,
    "Types and patterns": types.CODES,
    "Sizes and in-place updates": arrays.CODES,
    "Modules and files": modules.CODES,
    "Rules from outside": rules.CODES,
    "While a program runs": running.CODES,
    "Data and tuning files": data.CODES,
    "Rewrite points and schedules": points.CODES,
}
"""All codes, by subject, in the order in which the page lists them."""

CODES: dict[str, Explanation] = {each.code: each for group in GROUPS.values() for each in group}
"""The codes by their names."""
