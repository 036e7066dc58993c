"""The base of all launch shapes: it tells the parts of a shape by the types of its fields.

A launch shape is a step of the host plan (:mod:`~runelift.codegen.plan.plan`).  It asks how the
work of a launch is divided among groups and work-items, and the device answers
(:mod:`runelift.runtime.geometry`).  What walks over plans knows no shape but this base.

>>> @dataclass(frozen=True, slots=True)
... class Halves(Shape):
...     half: Answer
...     points: Size
...     wanted_half: Setting = NO_WISH
>>> shape = Halves(VName("half", 1), Size.var(VName("n", 2)))
>>> list(map(str, shape.names())), list(shape.asked()), list(shape.settings())
(['half_1'], ['points'], ['wanted_half'])
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias, get_type_hints

from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.types import Atom, i64


class Chunk(NamedTuple):
    """The chunks in which work-items have some points: each of ``size`` elements.

    ``whole`` is 1 if the chunks hold exactly the points, else 0.
    """

    size: VName
    whole: VName


ANSWER, SETTING = "answer", "setting"
"""The marks of types."""
Answer: TypeAlias = Annotated[VName, ANSWER]
"""The name of a size that the device chooses."""
ChunkAnswers: TypeAlias = Annotated[tuple[Chunk, ...], ANSWER]
"""The names of the chunks that the device chooses."""
Setting: TypeAlias = Annotated[Atom, SETTING]
"""A size that a parameter asks for; the name of its field begins with ``wanted_``."""
NO_WISH = i64(0)
"""The setting that leaves a size to the device."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A request for a launch shape.

    A field is an :data:`Answer`, a :data:`Setting`, or a fact that the answers depend on.  Facts
    are sizes, names of scalars, and constants.
    """

    needs_subgroups: ClassVar[bool] = False
    """True if the answers depend on a probe of the device's sub-groups."""

    @classmethod
    @cache
    def fields_of(cls, part: str) -> tuple[str, ...]:
        """The fields whose types have a mark: :data:`ANSWER` or :data:`SETTING`."""
        hints = get_type_hints(cls, include_extras=True)
        return tuple(each.name for each in fields(cls)
                     if part in getattr(hints[each.name], "__metadata__", ()))

    def answers(self) -> tuple[Any, ...]:
        """The names of the answers in the order of fields; names of chunks are tuples of tuples."""
        return tuple(getattr(self, name) for name in self.fields_of(ANSWER))

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return tuple(_names(self.answers()))

    def settings(self) -> dict[str, Atom]:
        """The settings by the names of their fields."""
        return {name: getattr(self, name) for name in self.fields_of(SETTING)}

    def inputs(self) -> frozenset[VName]:
        """The scalars that the answers depend on, but for parameters."""
        return frozenset(_names(tuple(value for name, value in self.asked().items()
                                      if name not in self.fields_of(SETTING))))

    def asked(self, changing: Set[VName] = frozenset()) -> dict[str, Any]:
        """The facts and settings that differ from their defaults, by the names of their fields.

        ``changing`` scalars differ between iterations of the loops around.
        """
        answers = self.fields_of(ANSWER)
        return {each.name: value for each in fields(self) if each.name not in answers
                and (value := getattr(self, each.name)) != each.default}


def _names(value: object) -> Iterator[VName]:
    """The names in a field of a shape."""
    if isinstance(value, VName):
        yield value
    elif isinstance(value, Size):
        yield from value.variables()
    elif isinstance(value, tuple):
        for each in value:
            yield from _names(each)
