"""Properties: entry points with ``#[prop]`` that should return true for all arguments.

They are run on random arguments.  Hypothesis makes these, and the smallest for which a property is
false.  An option of the attribute names an entry point that makes arguments (``gen``), makes them
smaller (``shrink``) or shows them (``pprint``); ``size`` limits them.

Hypothesis is an optional package: only programs with properties need this module.

Source: the manual of ``futhark test`` of Futhark 0.28.
"""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from runelift.frontend.load import entry_points
from runelift.ir.base.errors import (
    Diagnostic,
    ProgramError,
    ProgramFailure,
    UserError,
    unknown_entry,
)
from runelift.ir.base.source import Source, Span
from runelift.ir.prim import Prim
from runelift.ir.syntax import Fun, Program
from runelift.ir.types import ArrayType, Const
from runelift.runtime.data.text import Value, format_value

EXAMPLES = 100
"""The number of random arguments on which a property is run."""
SIZE = 20
"""The size of random arguments, where no ``size`` is given."""
MOST_SHRINKS = 1000
"""The most calls of a ``shrink``."""
VAIN_SHRINKS = 50
"""The calls of a ``shrink`` in a row after which a counterexample is taken for the smallest."""
MOST_SEED = (1 << 31) - 1
"""The greatest seed of a generator: it fits all types of 32 bits."""
_OPTIONS = ("gen", "shrink", "pprint", "size")
_ATTRIBUTE = re.compile(r"prop(?:\((.*)\))?", re.DOTALL)
_OPTION = re.compile(r"([^(),]+)\(([^()]*)\),?")

Run: TypeAlias = Callable[[str, Sequence[Any]], Sequence[Any]]
"""Runs an entry point on arguments."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property: its entry point, and the options of its attribute.

    ``sums``: it has an argument of a sum type, whose parts are not all values.
    """

    name: str
    gen: str | None = None
    shrink: str | None = None
    pprint: str | None = None
    size: int = SIZE
    sums: bool = False


def properties(source: Source) -> dict[str, Property]:
    """The properties of a program by name; ProgramError if an attribute is malformed."""
    found: dict[str, Property] = {}
    for name, entry in entry_points(source).items():
        for attribute in entry.attributes:
            if (match := _ATTRIBUTE.fullmatch(attribute)) is not None:
                options = _options(match[1] or "", entry.span)
                found[name] = Property(
                    name, options.get("gen"), options.get("shrink"), options.get("pprint"),
                    int(options.get("size", SIZE)), any("#" in type_ for type_ in entry.params))
    return found


def _options(text: str, span: Span) -> dict[str, str]:
    found = {name.strip(): value.strip() for name, value in _OPTION.findall(text)}
    for name, value in found.items():
        if name not in _OPTIONS:
            near = difflib.get_close_matches(name, _OPTIONS, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"It has {', '.join(_OPTIONS)}."
            raise ProgramError(Diagnostic("unknown-attribute", span,
                                          f"#[prop] has no option '{name}'.", hints=(hint,)))
        if name == "size" and not (value.isdecimal() and int(value) > 0):
            raise ProgramError(Diagnostic("unknown-attribute", span,
                                          "The size of #[prop] should be a positive number."))
    if _OPTION.sub("", text).strip():
        raise ProgramError(Diagnostic("unknown-attribute", span, (
            "The options of #[prop] should be as in #[prop(gen(f), shrink(g), size(10))].")))
    return found


class PropertyTest:
    """A test of a property of the program ``core``, whose entry points ``run`` runs."""

    def __init__(self, core: Program, checked_property: Property, run: Run, seed: int) -> None:
        self._property, self._run, self._seed = checked_property, run, seed
        self._funs: Mapping[str, Fun] = {fun.name: fun for fun in core.funs}
        self._reason = ""
        if [p.type for p in self._fun(checked_property.name).results] != [Prim.BOOL]:
            raise UserError(f"The property '{checked_property.name}' should return a bool.")

    def counterexample(self) -> str | None:
        """Arguments for which the property is false, in words; None if none were found."""
        found = self._search()
        if found is None:
            return None
        if self._property.shrink is not None:
            found = self._shrunk(found, self._property.shrink)
        self._holds(found)
        why = f", where it fails: {self._reason}" if self._reason else ""
        return f"it is false for {self._shown(found)}{why}  (--seed {self._seed})"

    def _fun(self, name: str) -> Fun:
        if name not in self._funs:
            raise unknown_entry(name, self._funs)
        return self._funs[name]

    def _search(self) -> list[Value] | None:
        """The smallest counterexample that Hypothesis finds."""
        found: list[list[Value]] = []

        @seeded(self._seed)
        @settings(max_examples=EXAMPLES, database=None, deadline=None, print_blob=False,
                  report_multiple_bugs=False, suppress_health_check=list(HealthCheck))
        @given(self._arguments())
        def check(arguments: list[Value]) -> None:
            if not self._holds(arguments):
                found.append(arguments)
                raise _Falsified

        try:
            check()
        except _Falsified:
            return found[-1]
        except HypothesisException as error:
            raise UserError(f"Hypothesis cannot test '{self._property.name}': {error}") from None
        return None

    def _holds(self, arguments: Sequence[Value]) -> bool:
        self._reason = ""
        try:
            return bool(self._run(self._property.name, list(arguments))[0])
        except ProgramFailure as error:
            self._reason = str(error)
            return False

    # Arguments

    def _arguments(self) -> Any:
        if (name := self._property.gen) is not None:
            size, seed = self._scalars(name, 2)
            return st.builds(
                lambda n, s: list(self._run(name, [size.dtype.type(n), seed.dtype.type(s)])),
                st.integers(1, self._property.size), st.integers(0, MOST_SEED))
        if self._property.sums:
            raise UserError(f"The property '{self._property.name}' has an argument of a sum type.  "
                            "Name an entry point that makes it: #[prop(gen(f))].")
        fun = self._fun(self._property.name)
        given = fun.params[fun.sizes:]
        rank = max((len(p.type.shape) for p in given if isinstance(p.type, ArrayType)), default=1)
        most = max(1, int(self._property.size ** (1 / rank)))

        @st.composite
        def arguments(draw: Any) -> list[Value]:
            sizes = {p.name: draw(st.integers(0, most)) for p in fun.params[:fun.sizes]}
            found = []
            for param in given:
                if isinstance(param.type, Prim):
                    found.append(np.asarray(draw(_scalars(param.type)), param.type.dtype)[()])
                    continue
                assert isinstance(param.type, ArrayType)
                shape = [int(s.value) if isinstance(s, Const) else sizes[s]
                         for s in param.type.shape]
                count = int(np.prod(shape))
                values = draw(st.lists(_scalars(param.type.elem), min_size=count, max_size=count))
                found.append(np.asarray(values, param.type.elem.dtype).reshape(shape))
            return found

        return arguments()

    def _scalars(self, name: str, count: int) -> list[Prim]:
        fun = self._fun(name)
        found = [p.type for p in fun.params[fun.sizes:]][-count:]
        if len(found) < count or not all(isinstance(t, Prim) and t.is_int for t in found):
            what = ("a size and a seed" if count == 2 else "arguments and a random number")
            raise UserError(f"'{name}' should take {what}, which are integers.")
        return [t for t in found if isinstance(t, Prim)]

    def _shrunk(self, arguments: list[Value], name: str) -> list[Value]:
        """A smaller counterexample, which calls of ``name`` make."""
        (prim,) = self._scalars(name, 1)
        draw, vain = random.Random(self._seed), 0
        for _ in range(MOST_SHRINKS):
            if vain == VAIN_SHRINKS:
                break
            number = prim.dtype.type(draw.randrange(min(MOST_SEED, int(prim.greatest))))
            try:
                smaller = list(self._run(name, [*arguments, number]))
            except ProgramFailure as error:
                raise UserError(f"'{name}' fails for {self._shown(arguments)}: {error}") from None
            vain += 1
            if not _same(smaller, arguments) and not self._holds(smaller):
                arguments, vain = smaller, 0
        return arguments

    def _shown(self, arguments: Sequence[Value]) -> str:
        if (name := self._property.pprint) is not None:
            return bytes(np.asarray(self._run(name, list(arguments))[0])).decode(errors="replace")
        return " ".join(format_value(np.asarray(value)) for value in arguments)


class _Falsified(Exception):
    """A property does not hold for some arguments."""


def _scalars(prim: Prim) -> Any:
    if prim is Prim.BOOL:
        return st.booleans()
    if prim.is_float:
        width: Any = 8 * prim.bytes
        return st.floats(allow_nan=False, allow_infinity=False, width=width)
    return st.integers(int(prim.least), int(prim.greatest))


def _same(some: Sequence[Value], others: Sequence[Value]) -> bool:
    return len(some) == len(others) and all(
        np.array_equal(one, other) for one, other in zip(some, others, strict=True))
