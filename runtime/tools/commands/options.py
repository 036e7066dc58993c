"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import require_file
from runelift.ir.base.numerals import whole_number
from runelift.ir.base.policies import POLICIES, policies
from runelift.runtime.tools.commands import json_output
from runelift.runtime.tools.commands.styles import show


def programs_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The programs among ``paths`` and below the folders among them, each once.

    Hidden files and folders, and environments of Python, are left out below a folder: the user
    does not write installed programs.  Raises UserError if there is no program in a folder, or a
    file has rules.
    """
    seen = set[Path]()
    for path in paths:
        if path.suffix == ".rules":
            raise UserError(f"'{path}' has rules: 'runelift rules --rules {path}' tests them.")
        found = sorted(_below(path)) if os.path.isdir(path) else [require_file(path)]
        if not found:
            raise UserError(f"There is no program (.fut) in '{path}'.")
        yield from (each for each in found if each not in seen)
        seen.update(found)


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")
                      and not os.path.exists(os.path.join(place, each, "pyvenv.cfg"))]
        yield from (Path(place, each) for each in names
                    if each.endswith(".fut") and not each.startswith("."))


NEEDS_DEVICE = ("Tuning needs an OpenCL device, and the interpreter is none.  'runelift doctor' "
                 "lists the devices.")

_Add: TypeAlias = Callable[[argparse._ActionsContainer], object]
"""Adds an option to a parser, or to a group of options."""


def _option(*names: str, **how: Any) -> _Add:
    return lambda parser: parser.add_argument(*names, **how)


class _Policies(tuple[str, ...]):
    """The policies of Runelift.  Policies of packages are among them, and are asked for last."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        """True for the name of a policy."""
        return super().__contains__(name) or name in policies()


_POLICIES = _Policies(POLICIES)


def _policy(name: str) -> str:
    """The name of a policy.  The error names the policies of packages, too."""
    if name not in _POLICIES:
        raise argparse.ArgumentTypeError(f"there is no policy '{name:.40}'; there are "
                                         f"{', '.join(policies())}")
    return name


OPTIONS: Mapping[str, _Add] = {
    "program": _option("program", type=Path, metavar="FILE", help="a program (.fut)"),
    "entry": _option("-e", "--entry", metavar="NAME",
                     help="the entry point (default: main, or the only one)"),
    "entries": _option("-e", "--entry", metavar="NAME",
                       help="only this entry point"),
    "policy": _option("--policy", type=_policy, choices=_POLICIES, default="all",
                      metavar="NAME",
                      help="the code versions to keep: all that may differ in speed, those of "
                           "nests of maps that differ in order alone as well (full), also of "
                           "groups that divide their elements otherwise (divided), those that "
                           "Futhark 0.26 keeps (classic), or one for each map "
                           "(moderate; default: %(default)s); installed packages may have "
                           "further policies ('runelift rules' lists them)"),
    "ignore-attributes": _option("--ignore-attributes", action="store_true",
                                 help="compile as if attributes that steer flattening, such as "
                                      "#[sequential_outer], were not there"),
    "disable": _option("--disable", metavar="RULE", action="append", default=[],
                       help="leave out a rewrite rule, a rule of flattening such as G7, or a "
                            "whole pass; may be repeated ('runelift rules' lists them)"),
    "rules": _option("--rules", metavar="FILE", type=Path,
                     help="rewrite with the rules of this file (.rules), which are tested first "
                          "('runelift rules --rules FILE' lists them)"),
    "force": _option("--force", metavar="VERSION", action="append", default=[],
                     help="run this version, such as V3 of 'runelift dump --stage tree', or "
                          "SITE=VERSION for one choice only; an error says why it cannot run "
                          "here"),
    "observe": _option("--observe", metavar="NAME", action="append", default=[],
                       help="call this observer of an installed package, or MODULE.NAME, after "
                            "each run ('runelift rules' lists them); may be repeated"),
    "fp-contract": _option("--fp-contract", action="store_true",
                           help="let the device round a * b + c once instead of twice: faster, but "
                                "no longer equal to the interpreter to the last bit"),
    "device": _option("--device", metavar="NAME",
                      help="part of the name of a device or platform, NAME:K for the K-th such, "
                           "or 'interpreter' (default: $RUNELIFT_DEVICE, or the best)"),
    "devices": _option("--device", dest="devices", action="append", default=[], metavar="NAME",
                       help="as for 'run'; given more than once, datasets are shared out among "
                            "these devices, which must be alike"),
    "all-devices": _option("--all-devices", action="store_true",
                           help="share out datasets among all devices of this machine that are "
                                "like that of --device"),
    "tuning": _option("--tuning", metavar="FILE", type=Path,
                      help="a tuning file (default: PROGRAM.tuning if it exists)"),
    "memory": _option("--memory", metavar="SIZE",
                      help="the most device memory that a call may need with its arguments and "
                           "results, such as 30MB or 2GiB: versions that need more do not run "
                           "('runelift explain memory' shows how much each needs)"),
    "schedule": _option("--schedule", metavar="FILE", type=Path,
                        help="a schedule, as 'runelift explain schedule' prints it: rewrite "
                             "points that replace those of the program and of its tuning file"),
    "only": _option("--only", metavar="TEXT", help="only datasets whose name contains TEXT"),
    "time-limit": _option("--time-limit", metavar="TIME|FACTORx|none",
                          help="when to stop a run: after a time (5s, 500ms), or when it takes so "
                               "many times as long as the best on the same input (10x, the "
                               "default; not before 2 s, 500 ms on GPUs)"),
    "json": _option(json_output.OPTION, action="store_true", help="print JSON instead of text"),
    "html": _option("--html", type=Path, metavar="FILE",
                    help="also write a report with charts, as one HTML file that needs no "
                         "network"),
}
"""The options that several commands share, by name."""
REWRITING = "policy", "ignore-attributes", "disable"
"""The options for the policy that decides about versions, and for the rewrite rules."""
COMPILATION = "device", "tuning", "schedule", *REWRITING, "rules", "fp-contract"
"""The options for the device, and for the code that a program has on it."""


def add_options(parser: argparse._ActionsContainer, *names: str) -> None:
    """Add shared options, in this order."""
    for name in names:
        OPTIONS[name](parser)


def as_given(args: argparse.Namespace, names: Iterable[str]) -> Iterator[str]:
    """Options by the names of their attributes, as they were given; those left out are not."""
    for name in names:
        value, option = getattr(args, name), f"--{name.replace('_', '-')}"
        if value is True:
            yield option
        elif isinstance(value, list):
            yield from (f"{option}={each}" for each in value)
        elif value not in (None, False) and (name, value) != ("policy", POLICIES[0]):
            text = str(value)  # a word that begins with a hyphen would be an option
            yield from (f"{option}={text}",) if text.startswith("-") else (option, text)


def add_json_or_sarif(parser: argparse.ArgumentParser) -> None:
    """Add an option for JSON or SARIF, for commands that print only errors and warnings."""
    either = parser.add_mutually_exclusive_group()
    add_options(either, "json")
    either.add_argument(json_output.SARIF, action="store_true",
                        help="print errors and warnings in SARIF 2.1.0 instead of text")


def print_json(data: Any) -> None:
    """Print the result of a command for a program to read (docs/json.md)."""
    print(json_output.as_text(data))


def natural(text: str) -> int:
    """A number from 0, for an option."""
    found = whole_number(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text:.40}' is not a number from 0 to 10^18")
    return found


def warn(message: str) -> None:
    """Print a warning on standard error."""
    show(f"runelift: warning: {message}", sys.stderr)
