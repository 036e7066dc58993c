"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import require_file
from runelift.ir.base.numerals import whole_number
from runelift.ir.base.policies import POLICIES, policies
from runelift.runtime.tools.commands import json_output
from runelift.runtime.tools.commands.styles import show


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the program's file."""
    parser.add_argument("program", type=Path, metavar="FILE", help="a program (.fut)")


def programs_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The programs among ``paths`` and below the folders among them, each once.

    Raises UserError if there is none in a folder.
    """
    seen = set[Path]()
    for path in paths:
        found = sorted(path.rglob("*.fut")) if os.path.isdir(path) else [require_file(path)]
        if not found:
            raise UserError(f"There is no program (.fut) in '{path}'.")
        yield from (each for each in found if each not in seen)
        seen.update(found)


def add_entry(parser: argparse.ArgumentParser) -> None:
    """Add the option for an entry point."""
    parser.add_argument("-e", "--entry", metavar="NAME", help="the entry point (default: main)")


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Add options for the policy that decides about versions, and for the rewrite rules."""
    parser.add_argument("--policy", type=_policy, choices=_POLICIES, default="all",
                        metavar="NAME",
                        help="the code versions to keep: all that may differ in speed, those of "
                             "nests of maps that differ in order alone as well (full), also of "
                             "groups that divide their elements otherwise (divided), those that "
                             "Futhark 0.26 keeps (classic), or one for each map "
                             "(moderate; default: %(default)s); installed packages may have "
                             "further policies ('runelift rules' lists them)")
    parser.add_argument("--ignore-attributes", action="store_true",
                        help="compile as if attributes that steer flattening, such as "
                             "#[sequential_outer], were not there")
    parser.add_argument("--disable", metavar="RULE", action="append", default=[],
                        help="leave out a rewrite rule, a rule of flattening such as G7, or a "
                             "whole pass; may be repeated ('runelift rules' lists them)")


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


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the option for rules from outside."""
    parser.add_argument("--rules", metavar="FILE", type=Path,
                        help="rewrite with the rules of this file (.rules), which are tested first "
                             "('runelift rules --rules FILE' lists them)")


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add the option for versions that must run."""
    parser.add_argument("--force", metavar="VERSION", action="append", default=[],
                        help="run this version, such as V3 of 'runelift dump --stage tree', or "
                             "SITE=VERSION for one choice only; an error says why it cannot run "
                             "here")


def add_observe(parser: argparse.ArgumentParser) -> None:
    """Add the option for observers of runs."""
    parser.add_argument("--observe", metavar="NAME", action="append", default=[],
                        help="call this observer of an installed package, or MODULE.NAME, after "
                             "each run ('runelift rules' lists them); may be repeated")


def add_contract(parser: argparse.ArgumentParser) -> None:
    """Add the option to contract floating-point operations."""
    parser.add_argument("--fp-contract", action="store_true",
                        help="let the device round a * b + c once instead of twice: faster, but no "
                             "longer equal to the interpreter to the last bit")


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the option for a device to run on."""
    parser.add_argument("--device", metavar="NAME",
                        help="part of the name of a device or platform, NAME:K for the K-th such, "
                             "or 'interpreter' (default: $RUNELIFT_DEVICE, or the best)")


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Add the options for devices to measure on."""
    parser.add_argument("--device", dest="devices", action="append", default=[], metavar="NAME",
                        help="as for 'run'; given more than once, datasets are shared out among "
                             "these devices, which must be alike")
    parser.add_argument("--all-devices", action="store_true",
                        help="share out datasets among all devices of this machine that are like "
                             "that of --device")


def add_tuning(parser: argparse.ArgumentParser) -> None:
    """Add the option for a tuning file."""
    parser.add_argument("--tuning", metavar="FILE", type=Path,
                        help="a tuning file (default: PROGRAM.tuning if it exists)")


def add_memory(parser: argparse.ArgumentParser) -> None:
    """Add the option for a bound on device memory."""
    parser.add_argument("--memory", metavar="SIZE",
                        help="the most device memory that a call may need with its arguments and "
                             "results, such as 30MB or 2GiB: versions that need more do not run "
                             "('runelift explain memory' shows how much each needs)")


def add_schedule(parser: argparse.ArgumentParser) -> None:
    """Add the option for a schedule."""
    parser.add_argument("--schedule", metavar="FILE", type=Path,
                        help="a schedule, as 'runelift explain schedule' prints it: rewrite "
                             "points that replace those of the program and of its tuning file")


def add_compilation(parser: argparse.ArgumentParser) -> None:
    """Add the options for the device, and for the code that a program has on it."""
    add_device(parser)
    add_tuning(parser)
    add_schedule(parser)
    add_policy(parser)
    add_rules(parser)
    add_contract(parser)


def add_only(parser: argparse.ArgumentParser) -> None:
    """Add the option for datasets."""
    parser.add_argument("--only", metavar="TEXT", help="only datasets whose name contains TEXT")


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    """Add the option for the time limit of runs."""
    parser.add_argument("--time-limit", metavar="TIME|FACTORx|none",
                        help="when to stop a run: after a time (5s, 500ms), or when it takes so "
                             "many times as long as the best on the same input (10x, the default; "
                             "not before 2 s, 500 ms on GPUs)")


def add_json(parser: argparse._ActionsContainer) -> None:
    """Add the option for JSON instead of text."""
    parser.add_argument(json_output.OPTION, action="store_true", help="print JSON instead of text")


def add_json_or_sarif(parser: argparse.ArgumentParser) -> None:
    """Add an option for JSON or SARIF, for commands that print only errors and warnings."""
    either = parser.add_mutually_exclusive_group()
    add_json(either)
    either.add_argument(json_output.SARIF, action="store_true",
                        help="print errors and warnings in SARIF 2.1.0 instead of text")


def add_html(parser: argparse.ArgumentParser) -> None:
    """Add the option for an HTML page besides the text."""
    parser.add_argument("--html", type=Path, metavar="FILE",
                        help="also write a report with charts, as one HTML file that needs no "
                             "network")


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
