"""Other programs that do work where they are installed: encoders and plotters."""

from __future__ import annotations

import shutil
import subprocess

from runelift.ir.base.errors import UserError

SECONDS = 600.0
"""The time that a tool has."""


def has(tool: str) -> bool:
    """True if a tool is installed."""
    return shutil.which(tool) is not None


def answer(tool: str, *words: str, given: bytes = b"", need: str) -> bytes:
    """The output of a tool that is ``given`` an input; UserError with its reason if it fails.

    ``need`` says what the tool is needed for.
    """
    try:
        done = subprocess.run([tool, *words], input=given, capture_output=True, check=False,
                              timeout=SECONDS)
    except FileNotFoundError:
        raise UserError(f"{need} needs the program '{tool}', which is not found.") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"'{tool}' was stopped after {SECONDS:.0f} s.") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it was stopped"]
        raise UserError(f"'{tool}' failed: {said[-1]}")
    return done.stdout
