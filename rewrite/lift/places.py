"""Names of the statements of a program by path, such as ``main.ys`` and ``main.ys[1].r``.

A path has the entry point and, from outside to inside, the name of each statement around.  That is
the variable that the source gives its value, or else the name that the compiler gives it.  Of
statements of one body with one name, the second has the index 1, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from runelift.ir.names import VName
from runelift.ir.syntax import Body, Fun, Stm
from runelift.ir.traverse import bodies_inside, is_flat


@dataclass(frozen=True, slots=True)
class Place:
    """A statement, and the path of names that leads to it."""

    path: str
    stm: Stm

    @property
    def name(self) -> VName:
        """The first name that the statement binds; no other statement binds it."""
        return self.stm.pat[0].name


def places(fun: Fun) -> Iterator[Place]:
    """The statements of an entry point that bind names, each before its inner statements."""
    return _places((fun.body,), fun.name)


def _places(bodies: Iterable[Body], outer: str) -> Iterator[Place]:
    seen: Counter[str] = Counter()
    for body in bodies:
        for stm in body.stms:
            if not stm.pat:
                continue
            base = stm.pat[0].name.base
            if stm.loc is not None and stm.loc.name and not is_flat(stm.exp):
                base = stm.loc.name
            path = f"{outer}.{base}" + (f"[{seen[base]}]" if seen[base] else "")
            seen[base] += 1
            yield Place(path, stm)
            yield from _places(bodies_inside(stm.exp), path)


def find(fun: Fun, path: str) -> Place | None:
    """The statement at ``path``; None if there is none."""
    return next((each for each in places(fun) if each.path == path), None)
