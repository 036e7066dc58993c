"""Tests of rules on random inputs: both sides are run by the interpreter, and must agree.

A type parameter becomes several types, and a function parameter random functions.  Sizes are 0, 1
and small numbers for which the rule's condition holds, then numbers that the rule names.  The
inputs are the same whenever a rule is tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runelift.frontend.elaborate import elaborate
from runelift.frontend.load import checked_module
from runelift.frontend.rule_files import AFTER, BEFORE, WHERE, RuleFile, WrittenRule
from runelift.frontend.syntax.parser import parse
from runelift.frontend.syntax.types import Arrow, Type, sizes_in
from runelift.ir.base.errors import CompilerLimitation, ProgramError, ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret_fun
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import ForLoop, Fun, Iota, Loop, Replicate
from runelift.ir.traverse import statements_inside
from runelift.ir.types import Atom, Const, elem_of
from runelift.rewrite.lift.outside.pattern import Promise
from runelift.runtime.data.compare import first_difference
from runelift.runtime.data.text import Value, format_value
from runelift.runtime.rules.draws import Draws, NoDraw, Types

ELEMENTS = (Prim.I32, Prim.F32, Prim.BOOL, Prim.U8, Prim.I64, Prim.F64)
"""The types that stand for type parameters."""
INSTANCES = 4
"""The number of choices of types, if there are type parameters."""
FUNCTIONS = 4
"""The number of choices of functions for each choice of types, if there are functions."""
INPUTS = 24
"""The number of random inputs for each choice of types and functions."""
MOST_TRIES = 2000
"""The most random inputs that are made to find inputs for which the condition holds."""
_PLACE = re.compile(r".*?: error\[[a-z-]+\]: ")
"""The beginning of the message of a failure."""
_NUMBER = re.compile(r"(?<![\w'.])(?:0x[\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)")
"""A number in the text of a rule."""
MOST_CONSTANTS = 8
"""The most numbers of a rule with which it is tested."""
LARGEST_CONSTANT = 4096
"""The largest number of a rule that is tested as a size."""
SMALL_SIZE, LARGE_SIZE = 5, 24
"""The largest random size, first in early tries, then in late tries.

Late tries come if few small sizes meet the condition.
"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a rule: its name and type, its text, and the size that it is in types."""

    name: str
    type: Type
    text: str
    size: VName | None


@dataclass(frozen=True, slots=True)
class Header:
    """The parameters of a rule: type parameters by name, sizes, and values and functions."""

    types: tuple[str, ...]
    sizes: Mapping[str, VName]
    params: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Arguments for which the sides of a rule differ, and in words what these give."""

    arguments: tuple[str, ...]
    before: str
    after: str


class Untestable(Exception):
    """A rule cannot be tested; the reason in words."""


def counterexample(file: RuleFile, rule: WrittenRule, header: Header,
                   promises: Sequence[Promise]) -> Counterexample | None:
    """The first arguments found for which the sides differ; None if there are none.

    Untestable if no random arguments can be made, or both sides fail on all of them.
    """
    tested = False
    for number in range(INSTANCES if header.types else 1):
        types = {name: ELEMENTS[(number + 2 * k) % len(ELEMENTS)]
                 for k, name in enumerate(header.types)}
        draws = Draws(f"{rule.name} {number}", types)
        try:
            trials = _trials(file, rule, header, promises, draws, types)
        except NoDraw as reason:
            raise Untestable(str(reason)) from None
        for trial in trials:
            for arguments in trial.arguments():
                found = trial.run(arguments)
                tested = tested or found.succeeded
                if found.differs:
                    return found.as_counterexample()
    if not tested:
        raise Untestable("its condition holds for none of the random arguments, or both sides "
                         "fail on all of them")
    return None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The results of both sides, or the failures in words."""

    arguments: tuple[str, ...]
    before: list[Value] | str
    after: list[Value] | str

    @property
    def succeeded(self) -> bool:
        return not isinstance(self.before, str)

    @property
    def differs(self) -> bool:
        if isinstance(self.before, str) or isinstance(self.after, str):
            return isinstance(self.before, str) != isinstance(self.after, str)
        return first_difference(self.before, self.after) is not None

    def as_counterexample(self) -> Counterexample:
        return Counterexample(self.arguments, _shown(self.before), _shown(self.after))


@dataclass(frozen=True, slots=True)
class _Trial:
    """The sides of a rule for certain types and functions, and the condition."""

    header: Header
    draws: Draws
    given: tuple[str, ...]
    """The types and functions, as text."""
    free: tuple[Parameter, ...]
    """The parameters that are values and still open."""
    before: Fun
    after: Fun
    where: Fun | None
    constants: tuple[float, ...]
    """The numbers that the rule names."""

    def arguments(self) -> Iterator[tuple[tuple[str, ...], list[Value]]]:
        """Random arguments for which the condition holds, and their text; small values first."""
        funs = filter(None, (self.before, self.after, self.where))
        found, ends = 0, all(map(_takes_extremes, funs))
        for number in range(MOST_TRIES):
            made = self._made(self._sizes(number), ends=ends and number % 2 == 1)
            if self._allows(made[1]):
                yield made
                found += 1
                if found == INPUTS:
                    break
        for sizes in self._sizes_of_constants():
            made = self._made(sizes, around=True)
            if self._allows(made[1]):
                yield made

    def _made(self, sizes: Mapping[VName, int], *, ends: bool = False, around: bool = False
              ) -> tuple[tuple[str, ...], list[Value]]:
        """Random arguments of these sizes and their text: with extremes, or around constants."""
        values: list[Value] = []
        shown = [f"{name} = {sizes[size]}" for name, size in self.header.sizes.items()]
        for param in self.free:
            size = None if param.size is None else sizes.get(param.size)
            parts = ([Prim.I64.dtype.type(size)] if size is not None else
                     self.draws.values(param.type, sizes, extreme=ends,
                                       around=self.constants if around else ()))
            values += parts
            text = ", ".join(map(format_value, parts))
            shown.append(f"{param.name} = {text if len(parts) == 1 else f'({text})'}")
        return (*self.given, *shown), values

    def _sizes_of_constants(self) -> Iterator[dict[VName, int]]:
        """Sizes at and beside the constants of the rule: one size or all; the rest is small."""
        named = self._named_sizes()

        def small() -> dict[VName, int]:
            return {each: 1 + self.draws.size(SMALL_SIZE) for each in named}

        for constant in self.constants:
            near = int(constant)
            for size in (near, near - 1, near + 1, 2 * near):
                if 0 <= size <= LARGEST_CONSTANT:
                    yield from ({**small(), name: size} for name in named)
            if len(named) > 1 and near ** len(named) <= LARGEST_CONSTANT:
                yield dict.fromkeys(named, near)
            yield from (small() for _ in range(INPUTS))

    def _named_sizes(self) -> list[VName]:
        used = {size for p in self.header.params for size in sizes_in(p.type)}
        return sorted({*self.header.sizes.values(), *(
            p.size for p in self.free if p.size is not None and p.size in used)})

    def _sizes(self, number: int) -> dict[VName, int]:
        named = self._named_sizes()
        if number < 2:
            return dict.fromkeys(named, number)
        most = SMALL_SIZE if number < MOST_TRIES // 10 else LARGE_SIZE
        return {name: self.draws.size(most) for name in named}

    def _allows(self, values: Sequence[Value]) -> bool:
        try:
            return self.where is None or bool(interpret_fun(self.where, values)[0])
        except ProgramFailure:
            return False

    def run(self, arguments: tuple[tuple[str, ...], list[Value]]) -> _Outcome:
        shown, values = arguments
        return _Outcome(shown, _result(self.before, values), _result(self.after, values))


def _takes_extremes(fun: Fun) -> bool:
    """True if a function can be run on the least and greatest integers.

    Its work must depend on sizes only.  There must be no floats, which round the sums of such.
    """
    sizes = {p.name for p in fun.params[:fun.sizes]}
    for stm in statements_inside((fun.body,)):
        if any(elem_of(p.type).is_float for p in stm.pat):
            return False
        match stm.exp:
            case Loop(form=ForLoop(bound=bound)):
                counts: tuple[Atom, ...] = (bound,)
            case Loop():
                return False
            case Iota(count=count):
                counts = (count,)
            case Replicate(shape=shape):
                counts = shape
            case _:
                continue
        if not all(isinstance(count, Const) or count in sizes for count in counts):
            return False
    return True


def _trials(file: RuleFile, rule: WrittenRule, header: Header, promises: Sequence[Promise],
            draws: Draws, types: Types) -> list[_Trial]:
    is_function = any(isinstance(p.type, Arrow) for p in header.params)
    choices = [_chosen(header, promises, draws) for _ in range(FUNCTIONS if is_function else 1)]
    parts = [BEFORE, AFTER, *([WHERE] if rule.where is not None else [])]
    sizes = "".join(f"[{name}]" for name in header.sizes)
    lines = []
    for number, chosen in enumerate(choices):
        free = " ".join(p.text for p in header.params if p.name not in chosen)
        args = " ".join(f"({chosen[p.name]})" if p.name in chosen else p.name
                        for p in header.params)
        lines += [f"entry draw{number}'{part} {sizes} {free} = {rule.of(part)} {args}"
                  for part in parts]
    module = file.module([rule], {name: prim.value for name, prim in types.items()})
    module.decs += parse(Source("draws", "\n".join(lines))).decs
    try:
        program = elaborate(checked_module(module), Names())
    except (ProgramError, CompilerLimitation) as error:
        raise NoDraw(f"its functions cannot be called: {error}") from None
    funs = {fun.name: fun for fun in program.funs}
    named = tuple(f"{name} = {prim}" for name, prim in types.items())
    return [_Trial(header, draws, (*named, *(f"{name} = {text}" for name, text in chosen.items())),
                   tuple(p for p in header.params if p.name not in chosen),
                   funs[f"draw{number}'{BEFORE}"], funs[f"draw{number}'{AFTER}"],
                   funs.get(f"draw{number}'{WHERE}"), constants_of(rule))
            for number, chosen in enumerate(choices)]


def constants_of(rule: WrittenRule) -> tuple[float, ...]:
    """The numbers in the text of a rule but for 0 and 1, which are tested in any case."""
    texts = [span.text for span in (rule.before, rule.after, rule.where) if span is not None]
    found = dict[float, None]()
    for text in _NUMBER.findall("\n".join(texts)):
        plain = text.replace("_", "")
        number = float(int(plain, 16)) if plain.startswith("0x") else float(plain)
        if number > 1:
            found[number] = None
    return tuple(found)[:MOST_CONSTANTS]


def _chosen(header: Header, promises: Sequence[Promise], draws: Draws) -> dict[str, str]:
    """Functions, and the neutral elements of operators, as text by parameter."""
    chosen: dict[str, str] = {}
    for param in header.params:
        if not isinstance(param.type, Arrow):
            continue
        laws = {p.law: p for p in promises if p.op.base == param.name}
        commutative = "commutative" in laws
        if (promise := laws.get("associative")) is not None:
            monoid = draws.monoid(param.type.domain, commutative=commutative)
            chosen[param.name] = monoid.op
            if promise.neutral is not None:
                chosen[promise.neutral.base] = monoid.neutral
        elif commutative:
            chosen[param.name] = draws.commutative(param.type.domain)
        else:
            try:
                chosen[param.name] = draws.function(param.type)
            except NoDraw as reason:
                raise NoDraw(f"there is no random function for '{param.name}': {reason}") from None
    return chosen


def _result(fun: Fun, values: Sequence[Value]) -> list[Value] | str:
    try:
        return interpret_fun(fun, values)
    except ProgramFailure as failure:
        return _PLACE.sub("", str(failure).splitlines()[0])


def _shown(result: list[Value] | str) -> str:
    if isinstance(result, str):
        return f"this fails: {result}"
    return f"this gives {', '.join(map(format_value, result))}"
