"""What is said about a code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runelift.ir.errors import Code

_FILE = re.compile(r"^-- file: (\S+)\n", re.M)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A code: ``title`` names it, ``meaning`` says why it is an error and what to do.

    ``wrong`` is a file with this mistake and no other one, ``cure`` the same file without it;
    ``suffix`` says what they are: ``.fut`` a program (which is run if it has a test block), others
    are read by whoever reads such files.  Further files follow lines ``-- file: NAME``.
    """

    code: Code
    title: str
    meaning: str
    wrong: str
    cure: str
    suffix: str = ".fut"


def files(text: str, main: str) -> dict[str, str]:
    """The files that an example consists of; the first is called ``main``."""
    first, *rest = _FILE.split(text)
    return {main: first, **dict(zip(rest[::2], rest[1::2], strict=True))}
