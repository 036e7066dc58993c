"""Child interpreters of Python that start quickly.

When an interpreter starts, Python's ``site`` looks for packages and runs their start-up code, which
takes most of the time where many are installed.  A process that gets the path of its parent can do
without.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from runelift.runtime.host import fast_start

_SET_PATHS = """
import json, sys
*given, sys.path[:], sys.prefix, sys.exec_prefix = json.loads(sys.argv[1])
"""


def command(code: str, *given: Any) -> list[str]:
    """The command line that runs ``code`` in a process with the module path of this one.

    The code finds the arguments in the list ``given``; they must be JSON.
    """
    arguments = [*given, sys.path, sys.prefix, sys.exec_prefix]
    without_site = fast_start.enabled() and not _needs_site()
    return [sys.executable, *(["-S"] if without_site else []), "-c", _SET_PATHS + code,
            json.dumps(arguments)]


def _needs_site() -> bool:
    """Test whether ``site`` is needed to import Runelift, as the path lacks it (PEP 660)."""
    package = sys.modules[__name__.partition(".")[0]]
    folder, name = os.path.split(package.__path__[0])
    return name != package.__name__ or folder not in sys.path
