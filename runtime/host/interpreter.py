"""Python for processes of our own, which start as quickly as it can.

Python's ``site`` looks for packages when an interpreter starts, and runs what they have put there
for that: 60 of 75 ms in an environment with a dozen of large ones, some of which then look at every
import.  A process that is told where the one that starts it finds modules can do without.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from runelift.runtime.host import fast_start

_WHERE = """
import json, sys
*given, sys.path[:], sys.prefix, sys.exec_prefix = json.loads(sys.argv[1])
"""


def command(code: str, *given: Any) -> list[str]:
    """What runs ``code`` in a process that finds modules where this one does.

    The code finds in the list ``given`` what it is given, which must be JSON.
    """
    told = [*given, sys.path, sys.prefix, sys.exec_prefix]
    without_site = fast_start.enabled() and not _needs_site()
    return [sys.executable, *(["-S"] if without_site else []), "-c", _WHERE + code,
            json.dumps(told)]


def _needs_site() -> bool:
    """Whether Runelift is not on the path, so that ``site`` must have seen to it (PEP 660)."""
    package = sys.modules[__name__.partition(".")[0]]
    folder, name = os.path.split(package.__path__[0])
    return name != package.__name__ or folder not in sys.path
