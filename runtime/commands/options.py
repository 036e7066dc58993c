"""Options that several commands share."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runelift.runtime.program import Program
    from runelift.runtime.testblocks import Case


def add_program(parser: argparse.ArgumentParser) -> None:
    """The program file."""
    parser.add_argument("file", type=Path, help="the program (.fut)")


def add_device(parser: argparse.ArgumentParser) -> None:
    """The device and what is chosen on it."""
    parser.add_argument("--device", help="a part of a device's or platform's name, with :K for "
                        "the K-th such device, or 'interpreter'")
    parser.add_argument("--policy", default="all", choices=["all", "classic", "moderate"],
                        help="which code versions are kept (default: all)")
    parser.add_argument("--tuning", type=Path, help="a tuning file (default: FILE.tuning)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Machine-readable output."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def compile_file(options: argparse.Namespace) -> Program:
    """The program of ``options``, compiled for its device."""
    from runelift.runtime.program import compile

    program = compile(options.file, device=options.device, policy=options.policy,
                      tuning=options.tuning)
    return program


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    json.dump(value, sys.stdout, indent=1, default=str)
    print()


def datasets(path: Path, *, without: str) -> list[Case]:
    """The cases of a program's test blocks that do not have the tag ``without``."""
    from runelift.frontend.load import read_source
    from runelift.runtime.testblocks import parse_blocks

    block = parse_blocks(read_source(path).text, path)
    return [c for c in block.cases if without not in c.tags and c.error is None
            and c.kind != "script"]
