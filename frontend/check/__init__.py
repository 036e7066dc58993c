"""The type checker: names, types with sizes, and where they disagree.

:func:`check_module` annotates the syntax tree in place.  Read :mod:`.unify` first (what
equality of types and sizes means), then :mod:`.infer`.
"""

from runelift.frontend.check.declarations import check_module
from runelift.frontend.check.memory import Memory

__all__ = ["Memory", "check_module"]
