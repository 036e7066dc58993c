"""The names of rewrite points with their parameters, and their text ``name(argument, ...)``.

A program asks for a point by an attribute, ``#[split_join(16)]``; a schedule by a line,
``main.ys split_join(16)``.  Their rewrites are in :mod:`runelift.rewrite.lift.points`.

Source: Mogers 2023, section 6.2.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import permutations
from typing import TYPE_CHECKING, TypeAlias

from runelift.ir.base.errors import Code, Diagnostic, ProgramError
from runelift.ir.base.source import Span
from runelift.ir.names import SKIP, is_skip_name

if TYPE_CHECKING:
    from runelift.ir.syntax import Stm

DEFAULT = 16
"""The value of a number that has a name, until the tuner or ``--param`` gives it one."""
LARGEST = (1 << 31) - 1
"""The largest number that a point takes."""


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric parameter of a point, such as a tile size: a positive i64.

    The last parameters of a point may have a ``default``, and can be left out.
    """

    name: str
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter that is one of ``words`` and decides the form of the rewritten program."""

    name: str
    words: tuple[str, ...]
    default: str | None = None


Parameter: TypeAlias = Number | Choice


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a point; it ``repeats`` if a statement may have it more than once."""

    parameters: tuple[Parameter, ...] = ()
    repeats: bool = False


SPACES = ("global", "local", "private")
"""The memories that a copy can be in."""
COPIES = ("none", "local", "private")
"""The memories that tiles can be copied to; ``none``: they are read where they are."""
ORDERS = tuple("".join(map(str, order)) for rank in range(2, 6)
               for order in permutations(range(rank)) if order != tuple(range(rank)))
"""The orders of up to five dimensions, as digits."""

_OWN: Mapping[str, Signature] = {
    "split_join": Signature((Number("tile"),), repeats=True),
    "join_split": Signature((Number("loops", 2),)),
    "ab_tile": Signature((Number("rows"), Number("columns"), Choice("copies", COPIES, "none")),
                         repeats=True),
    "tile_map_reduce": Signature((Number("tile"), Choice("copies", COPIES, "none")), repeats=True),
    "kernel_fission": Signature(),
    "materialise": Signature((Choice("space", SPACES),)),
    "layout": Signature((Choice("order", ORDERS), *(Number(f"factor_{k}", 1) for k in range(4)))),
    "interchange": Signature(),
    "interchange_reduce": Signature((Number("position", 1),)),
    "privatise": Signature(),
    "pad_extra": Signature((Number("amount"), Number("loop", 1),
                            Choice("form", ("exactly", "multiple"), "exactly")), repeats=True),
}
_rules: ContextVar[frozenset[str]] = ContextVar("_rules", default=frozenset())


@contextmanager
def with_rules(names: Iterable[str]) -> Iterator[None]:
    """Take the names of rules from outside for points without parameters."""
    before = _rules.set(frozenset(names))
    try:
        yield
    finally:
        _rules.reset(before)


class _WithRules(Mapping[str, Signature]):
    """The points of Runelift, and rules from outside (:func:`with_rules`)."""

    def __getitem__(self, name: str) -> Signature:
        return Signature() if name in _rules.get() else _OWN[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*_OWN, *sorted(_rules.get())))

    def __len__(self) -> int:
        return len(_OWN) + len(_rules.get())


POINTS: Mapping[str, Signature] = _WithRules()
"""The signatures of all points by name, in the order of the thesis."""


def parameters_of(point: str) -> tuple[Parameter, ...]:
    """The parameters of a point; none for rules from outside."""
    found = POINTS.get(point)
    return found.parameters if found is not None else ()


Argument: TypeAlias = int | str
"""A number; or the word of a choice, or the name of a program parameter for a number."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_']*")
_CALL = re.compile(r"\s*([^\s(),]+)\s*(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True, slots=True)
class Request:
    """A point with arguments, as a program or schedule asks for it; ``skip``: it may be left out.

    >>> print(read_request("split_join( 16,skip )"))
    split_join(16, skip)
    """

    point: str
    arguments: tuple[Argument, ...] = ()
    skip: bool = False

    def __str__(self) -> str:
        return self.text(tuple(map(str, self.arguments)))

    def text(self, words: tuple[str, ...]) -> str:
        """The text with these arguments; last arguments that are defaults are left out."""
        kinds = parameters_of(self.point)
        while words and words[-1] == str(kinds[len(words) - 1].default):
            words = words[:-1]
        return f"{self.point}({', '.join([*words, *([SKIP] if self.skip else [])])})"

    @property
    def names(self) -> tuple[str, ...]:
        """The program parameters that are its numbers."""
        kinds = parameters_of(self.point)
        return tuple(str(each) for kind, each in zip(kinds, self.arguments, strict=True)
                     if isinstance(kind, Number) and isinstance(each, str))


class PlacedAttribute(str):
    """The text of an attribute that knows its place in the source; it equals its text."""

    span: Span | None = None

    @classmethod
    def at(cls, text: str, span: Span | None) -> PlacedAttribute:
        """The attribute with a text that stands at a place."""
        made = cls(text)
        made.span = span
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return PlacedAttribute.at, (str(self), self.span)


class PointMistake(Exception):
    """A mistake in the text of a point: a code, a message, and a hint."""

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.hint = hint

    def at(self, span: Span) -> ProgramError:
        """The mistake as an error at ``span``."""
        return ProgramError(Diagnostic(self.code, span, self.message,
                                       hints=(self.hint,) if self.hint else ()))


def is_point(attribute: str) -> bool:
    """True if an attribute asks for a point."""
    return attribute.partition("(")[0].strip() in POINTS


def near_point(name: str) -> str:
    """The point whose name is most like ``name``; "" if none is."""
    return next(iter(get_close_matches(name, POINTS, n=1)), "")


def settings(stm: Stm) -> tuple[str, ...]:
    """The attributes of a statement that are no points.

    Points change nothing before their turn, so rules that respect attributes look at these.
    """
    return tuple(each for each in stm.attrs if not is_point(each)) if stm.attrs else ()


def numbers(defaults: Mapping[str, int | None], values: Mapping[str, int]) -> dict[str, int]:
    """Parameters with a default, and numbers of :data:`SKIP`, each with its value."""
    return {**{name: values.get(name) or default for name, default in defaults.items()
               if default is not None},
            **{name: value for name, value in values.items() if is_skip_name(name)}}


def points_of(attrs: Iterable[str]) -> tuple[str, ...]:
    """The attributes that ask for points, in order."""
    return tuple(filter(is_point, attrs))


def conflict(attrs: Iterable[str]) -> tuple[str, str] | None:
    """Two attributes for one point, in order, that a statement can have only once; else None."""
    seen: dict[str, str] = {}
    for each in points_of(attrs):
        name = each.partition("(")[0]
        if name in seen and not POINTS[name].repeats:
            return seen[name], each
        seen[name] = each
    return None


def read_request(text: str) -> Request:
    """The point that a text requests; PointMistake if the text is wrong."""
    match = _CALL.fullmatch(text)
    if match is None:
        raise PointMistake("point-arguments", f"'{text:.80}' is not a point with its arguments.",
                           "Write NAME(ARGUMENT, ...), for example split_join(16).")
    name, inside = match.groups()
    if name not in POINTS:
        near = near_point(name)
        raise PointMistake("unknown-point", f"There is no rewrite point '{name:.80}'.",
                           f"Did you mean '{near}'?" if near else
                           f"The points are {', '.join(POINTS)}.")
    words = [word.strip() for word in inside.split(",")] if inside and inside.strip() else []
    skip = words[-1:] == [SKIP]
    kinds = POINTS[name].parameters
    words = words[:-1] if skip else words
    least = sum(each.default is None for each in kinds)
    if not least <= len(words) <= len(kinds):
        wanted = ", ".join(each.name for each in kinds)
        most = f"{least} to {len(kinds)}" if least < len(kinds) else f"{len(kinds) or 'no'}"
        raise PointMistake(
            "point-arguments",
            f"Point '{name}' takes {most} argument{'s' * (len(kinds) != 1)}, not {len(words)}.",
            f"Write {name}({wanted})." + ("" if skip or not kinds else
                                          "  The word 'skip' may follow."))
    words += [str(kind.default) for kind in kinds[len(words):]]
    return Request(name, tuple(_argument(name, kind, word)
                               for kind, word in zip(kinds, words, strict=True)), skip)


def _argument(point: str, kind: Parameter, word: str) -> Argument:
    if isinstance(kind, Choice):
        if word in kind.words:
            return word
        near = get_close_matches(word, kind.words, n=1)
        raise PointMistake(
            "point-arguments", f"'{kind.name}' of point '{point}' cannot be '{word:.80}'.",
            f"Did you mean '{near[0]}'?" if near else f"It is {_some(kind.words)}.")
    if _NAME.fullmatch(word):
        return word
    digits = word.replace("_", "")
    if not digits.isascii() or not digits.isdigit():
        raise PointMistake("point-arguments", f"'{kind.name}' of point '{point}' cannot be "
                           f"'{word:.80}'.", "It is a number, or the name of a parameter.")
    number = int(digits) if len(digits) <= len(str(LARGEST)) else LARGEST + 1
    if not 1 <= number <= LARGEST:
        raise PointMistake("point-arguments", f"'{kind.name}' of point '{point}' must be from 1 to "
                           f"{LARGEST}, not {word:.40}.")
    return number


def _some(words: tuple[str, ...]) -> str:
    """The first words of a choice."""
    most = 8
    return f"one of {', '.join(words)}" if len(words) <= most else (
        f"a word such as {', '.join(words[:most])}")
