"""The type checker: names, types with sizes, and where they disagree.

:func:`check_module` annotates the syntax tree in place.  Read :mod:`.unify` first (what
equality of types and sizes means), then :mod:`.infer`.
"""

from runelift.frontend.check.declarations import check_module

__all__ = ["check_module"]
