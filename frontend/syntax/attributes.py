"""The attributes ``#[...]``: known attributes, and reports about unknown attributes.

An attribute that is a rewrite point has its signature in :mod:`runelift.ir.points`.
"""

from __future__ import annotations

import difflib
import re
import warnings

from runelift.ir.base.errors import Diagnostic, ProgramWarning, did_you_mean
from runelift.ir.base.source import Span
from runelift.ir.points import POINTS, PointMistake, read_request

_CHOICES = ("no_outer", "no_intra", "only_intra", "only_inner", "sequentialise_nonuniform")

_NUMBER = re.compile("[1-9][0-9]{0,17}")

KNOWN: dict[str, tuple[str, ...] | re.Pattern[str] | None] = {
    "sequential": (), "sequential_outer": (), "sequential_inner": (),
    "incremental_flattening": _CHOICES, "flattening": _CHOICES,
    "unroll": (), "unsafe": (), "noinline": (), "inline": (),
    "opaque": (), "scratch": (), "blank": (), "trace": None, "break": None, "param": None,
    "prop": None, "stripmine": _NUMBER, "bound": _NUMBER, "true_dep": (),
}
"""The names of attributes with the arguments they take, or a pattern of them; None if any."""

_STEERING = frozenset({"sequential", "sequential_outer", "sequential_inner",
                       "incremental_flattening", "flattening"})
"""The attributes that decide about versions, and about what runs in parallel."""

_FORM = re.compile(r"([^()]+)(?:\((.*)\))?", re.DOTALL)


def parameter(attribute: str) -> str:
    """The name of the tuning parameter that the attribute ``param(name)`` stands for; or ""."""
    match = re.fullmatch(r"param\(([^()]+)\)", attribute)
    return match[1] if match else ""


def steers_flattening(attribute: str) -> bool:
    """True if an attribute decides what runs in parallel, or which versions there are.

    So do rewrite points.

    >>> [steers_flattening(each) for each in ("flattening(no_outer)", "split_join(16)", "unroll")]
    [True, True, False]
    """
    name = attribute.partition("(")[0]
    return name in _STEERING or name in POINTS


def is_known(attribute: str, span: Span) -> bool:
    """True if there is such an attribute, written without blanks; warns if not.

    A rewrite point must be right, and so must a name that is almost that of a point: ProgramError.
    Functions are inlined wherever they are called, so ``inline`` and ``noinline`` change nothing.
    """
    form = _FORM.fullmatch(attribute)
    name, argument = form.groups() if form else (attribute, None)
    if name not in KNOWN:
        near = difflib.get_close_matches(name, (*KNOWN, *POINTS), n=1)
        if near and near[0] in POINTS:
            try:
                read_request(attribute)
            except PointMistake as mistake:
                raise mistake.at(span) from None
            return True
        message = f"Unknown attribute '{attribute}'; it is ignored."
        hint = (did_you_mean(near[0], span, f"#[{name}]", f"#[{near[0]}]") if near else
                f"The attributes are {', '.join(KNOWN)}.")
    else:
        takes = KNOWN[name]
        if takes is None or (takes.fullmatch(argument or "") if isinstance(takes, re.Pattern)
                             else argument in (takes or (None,))):
            return True
        message = f"Attribute '{name}' does not take '{argument}'; it is ignored."
        if argument is None:
            message = f"Attribute '{name}' lacks its argument; it is ignored."
        hint = ("It takes a positive number." if isinstance(takes, re.Pattern) else
                f"It takes one of {', '.join(takes)}." if takes else "It takes none.")
    diagnostic = Diagnostic("unknown-attribute", span, message, hints=(hint,), severity="warning")
    warnings.warn(ProgramWarning(diagnostic), stacklevel=2)
    return False
