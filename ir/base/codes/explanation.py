"""The explanation of one code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runelift.ir.base.errors import Code

_FILE = re.compile(r"^-- file: (\S+)\n", re.M)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A code: ``title`` names it, ``meaning`` says why it is an error and what to do.

    ``wrong`` is a file with this mistake only, ``cure`` the same file without it.  ``suffix`` is
    the kind of these files.  A program (``.fut``) is run if it has a test block; other files are
    only read.  Further files follow lines ``-- file: NAME``.
    """

    code: Code
    title: str
    meaning: str
    wrong: str
    cure: str
    suffix: str = ".fut"


def files(text: str, main: str) -> dict[str, str]:
    """The files of an example, name to text; the first is called ``main``."""
    first, *rest = _FILE.split(text)
    return {main: first, **dict(zip(rest[::2], rest[1::2], strict=True))}
