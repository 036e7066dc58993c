"""The wording of mistakes about types: in the syntax of programs.

Types that inference has yet to find are called a, b, ...; a size that has no name in the program is
``[]``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from string import ascii_lowercase

from runelift.frontend.check.unify import Substitution
from runelift.frontend.syntax.types import MetaVar, Sum, Type, show
from runelift.ir.names import NAMELESS, VName
from runelift.ir.prim import FLOATS, INTS, NUMBERS, SIGNED, Prim
from runelift.ir.sizes import Size

_KINDS = {frozenset(FLOATS): "float", frozenset(INTS): "integer", frozenset(NUMBERS): "number",
          frozenset((*INTS, Prim.BOOL)): "integer or bool", frozenset(SIGNED): "signed integer"}
DECLARED = "the declared result"
"""The role of a function's body whose type is declared."""
_WHOLE = {"a value": "Expression", DECLARED: "Function body",
          "the next value of the loop": "Loop body"}
"""Names for an expression of a wrong type."""


@dataclass(slots=True)
class Wording:
    """The names of types and sizes in one message.

    ``taken`` are type parameters of the program, ``expressions`` the sizes that stand for
    expressions of the program.
    """

    solved: Substitution
    taken: Collection[str]
    expressions: Mapping[VName, str] = field(default_factory=dict)
    _letters: dict[int, str] = field(default_factory=dict)

    def type(self, type_: Type) -> str:
        """A type in source syntax."""
        return show(self.solved.resolve(type_), self.size, self._unfound)

    def noun(self, type_: Type) -> str:
        """A type as an object of a sentence: "found ..."."""
        word = self._kind(type_)
        return f"a value of type {self.type(type_)}" if word is None else _article(word)

    def size(self, size: Size) -> str:
        """A size as text; "" for a size without a name, and ``[]`` for unnamed parts."""
        hidden = {v for v in size.variables() if v.base == NAMELESS
                  or v in self.solved.flexible or v in self.solved.unknown}
        if any(size == Size.var(name) for name in hidden):
            return ""
        return size.difference(lambda v: "[]" if v in hidden and v.base == NAMELESS
                               else self.expressions.get(v, v.base))

    def mismatch(self, expected: Type, found: Type, what: str) -> str:
        """The message that ``what`` has the type ``found`` instead of ``expected``."""
        if self.type(expected) == self.type(found):
            return (f"Expected {what} of type {self.type(expected)}, found another type that is "
                    "written alike.")
        if what in _WHOLE:
            return (f"{_WHOLE[what]} does not have expected type {self.type(expected)}, but "
                    f"{self.type(found)}.")
        word = self._kind(expected)
        wanted = f"of type {self.type(expected)}" if word is None else f"that is {_article(word)}"
        given = self.type(found) if self._kind(found) is None else self.noun(found)
        return f"Expected {what} {wanted}, found {given}."

    def _kind(self, type_: Type) -> str | None:
        """The word for a type of which only the candidates are known."""
        head = self.solved.head(type_)
        if isinstance(head, MetaVar) and (allowed := self.solved.allowed.get(head.id)):
            return _KINDS.get(allowed, "bool" if allowed == {Prim.BOOL} else "number")
        return None

    def _unfound(self, meta: MetaVar) -> str:
        if (word := self._kind(meta)) is not None:
            return word
        if (required := self.solved.required.get(meta.id)) is not None:
            known = required.kind(tuple((name, self.solved.resolve(member))
                                        for name, member in required.members))
            text = show(known, self.size, self._unfound)
            return text if required.kind is Sum else text.removesuffix("}") + ", ...}"
        free = (c for c in ascii_lowercase if c not in (*self.taken, *self._letters.values()))
        return self._letters.setdefault(meta.id, next(free, f"t{meta.id}"))


def _article(word: str) -> str:
    return word if word == "bool" else f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
