"""Child interpreters of Python that start quickly, and import nothing from the working folder.

When an interpreter starts, Python's ``site`` looks for packages and runs their start-up code, which
takes most of the time where many are installed.  A process that gets the path of its parent can do
without.

A file ``json.py`` beside a program is not Python's.  So no child has the working folder on its
path, unless Runelift itself is there.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from runelift.runtime.host import fast_start

_BEGIN = """
import sys
sys.path[:], sys.prefix, sys.exec_prefix = {}
import json
given = json.loads(sys.argv[1])
"""
"""Code that sets the path before it imports anything from there."""


def command(code: str, *given: Any) -> list[str]:
    """The command line that runs ``code`` in a process with the module path of this one.

    The code finds the arguments in the list ``given``; they must be JSON.
    """
    begin = _BEGIN.format(ascii((module_path(), sys.prefix, sys.exec_prefix)))
    without_site = fast_start.enabled() and not _needs_site()
    return [sys.executable, "-P", *(["-S"] if without_site else []), "-c", begin + code,
            json.dumps(given)]


def module_path() -> list[str]:
    """The path of modules without the working folder."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it has been deleted
        return [each for each in map(str, sys.path) if os.path.isabs(each)]
    paths = {each: os.path.realpath(each) for each in map(str, sys.path)}
    own = _own_folder()
    return [each for each in map(str, sys.path) if paths[each] != here or here == own]


def _own_folder() -> str:
    """The folder with Runelift's package; empty if a finder knows its parts (PEP 660)."""
    package = sys.modules[__name__.partition(".")[0]]
    folder, name = os.path.split(os.path.realpath(package.__path__[0]))
    return folder if name == package.__name__ else ""


def _needs_site() -> bool:
    """Test whether ``site`` is needed to import Runelift, as the path lacks it (PEP 660)."""
    package = sys.modules[__name__.partition(".")[0]]
    folder, name = os.path.split(package.__path__[0])
    return name != package.__name__ or folder not in sys.path
