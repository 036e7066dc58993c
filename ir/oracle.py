"""The meaning of ``jvp`` and ``vjp``: an interpreter of numbers that carry derivatives.

Forward mode computes with pairs.  Reverse mode writes a list of scalar operations, and follows it
back.  Neither knows the rules by which compiled derivatives are made, which are tested against it.
Source: Griewank and Walther 2008, "Evaluating Derivatives", chapters 3 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.base.errors import NoDerivative, ProgramFailure
from runelift.ir.base.source import Loc
from runelift.ir.interpret import Interpreter
from runelift.ir.meaning import convert, operation
from runelift.ir.names import VName
from runelift.ir.partials import PARTIALS, UNKNOWN, Partial
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, Type
from runelift.ir.values import Env, Value, atom

Linear: TypeAlias = Callable[[Value], Value]
"""A linear function of a tangent, or of an adjoint."""
Adjoints: TypeAlias = dict[int, Value]
"""Adjoints by numbers of the tape."""


@dataclass(slots=True, eq=False)
class Level:
    """An operator under evaluation; an inner operator is deeper than the operators around it.

    ``tape`` has for each number of reverse mode its operands, each with the function that an
    adjoint goes through.  A function in their place distributes adjoints itself.
    """

    depth: int
    forward: bool
    tape: list[list[tuple[int, Linear]] | Callable[[Adjoints], None]] = field(
        default_factory=lambda: [[]])

    def record(self, entry: list[tuple[int, Linear]] | Callable[[Adjoints], None]) -> int:
        """Add to the tape; the number of the entry."""
        self.tape.append(entry)
        return len(self.tape) - 1


@dataclass(slots=True, eq=False)
class Traced:
    """A number or an array with derivatives: tangents, or numbers of the tape (0: a constant)."""

    level: Level
    value: Value
    part: Value

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return tuple(np.shape(plain(self)))

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        """The type of elements."""
        return plain(self).dtype

    def __getitem__(self, at: Any) -> Traced:
        return Traced(self.level, self.value[at], self.part[at])

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Traced]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(plain(self))

    def __int__(self) -> int:
        return int(plain(self))

    __index__ = __int__


def plain(value: Value) -> Value:
    """A value without its derivatives."""
    while isinstance(value, Traced):
        value = value.value
    return value


def is_recorded(value: Value) -> bool:
    """True if a value has numbers of a tape."""
    return isinstance(value, Traced) and (not value.level.forward or is_recorded(value.value))


def highest(values: Sequence[Value]) -> Level | None:
    """The innermost operator that values have derivatives of."""
    levels = [value.level for value in values if isinstance(value, Traced)]
    return max(levels, key=lambda level: level.depth, default=None)


def below(value: Value, level: Level) -> Value:
    """A value without the derivatives of an operator."""
    return value.value if isinstance(value, Traced) and value.level is level else value


def part_of(value: Value, level: Level) -> Value:
    """The derivatives of a value; zeros if it has none."""
    if isinstance(value, Traced) and value.level is level:
        return value.part
    shape = np.shape(plain(value))
    return np.zeros(shape, plain(value).dtype if level.forward else np.int64)[()]


def lifted(f: Callable[[list[Value]], Value], values: Sequence[Value]) -> Value:
    """``f`` of values, and of their derivatives, for a function that only moves elements."""
    level = highest(values)
    if level is None:
        return f(list(values))
    return Traced(level, lifted(f, [below(v, level) for v in values]),
                  lifted(f, [part_of(v, level) for v in values]))


class Oracle(Interpreter):
    """An interpreter whose values may be :class:`Traced`; ``loc`` is the place of a statement."""

    loc: Loc | None = None

    def derivative(self, exp: ir.Derivative, env: Env) -> list[Value]:
        """The results of an operator of derivatives."""
        match exp:
            case ir.Jvp(lam, args, tangents):
                given = [atom(a, env) for a in tangents]
                return self._forward(lam, [atom(a, env) for a in args], given, env)
            case ir.Vjp(lam, args, seeds):
                given = [atom(a, env) for a in seeds]
                return self._reverse(lam, [atom(a, env) for a in args], given, env)
            case ir.WithVjp():
                return self._custom(exp, env)

    def _depth(self, env: Env) -> int:
        return 1 + max((v.level.depth for v in env.values() if isinstance(v, Traced)), default=0)

    def _forward(self, lam: ir.Lambda, args: list[Value], tangents: list[Value], env: Env
                 ) -> list[Value]:
        level = Level(self._depth(env), forward=True)
        traced = [Traced(level, a, t) for a, t in zip(args, tangents, strict=True)]
        results = self.call(lam, traced, dict(env))
        return [*(below(r, level) for r in results), *(part_of(r, level) for r in results)]

    def _reverse(self, lam: ir.Lambda, args: list[Value], seeds: list[Value], env: Env
                 ) -> list[Value]:
        level = Level(self._depth(env), forward=False)
        traced = [self._numbered(level, a) for a in args]
        results = self.call(lam, traced, dict(env))
        adjoints: Adjoints = {}
        for result, seed in zip(results, seeds, strict=True):
            self._spread(adjoints, part_of(result, level), seed)
        for number in range(len(level.tape) - 1, 0, -1):
            entry = level.tape[number]
            if callable(entry):
                entry(adjoints)
            elif (adjoint := adjoints.get(number)) is not None:
                for operand, function in entry:
                    self._add(adjoints, operand, function(adjoint))
        return [*(below(r, level) for r in results), *(self._gathered(adjoints, t) for t in traced)]

    def _numbered(self, level: Level, value: Value) -> Traced:
        """A value whose elements have numbers of the tape."""
        shape = np.shape(plain(value))
        numbers = np.array([level.record([]) for _ in range(math.prod(shape))], np.int64)
        return Traced(level, value, numbers.reshape(shape)[()])

    def _spread(self, adjoints: Adjoints, numbers: Value, values: Value) -> None:
        """Add values to the adjoints of the elements of an array."""
        for at in np.ndindex(np.shape(numbers)):
            self._add(adjoints, int(numbers[at]), values[at])

    def _gathered(self, adjoints: Adjoints, traced: Traced) -> Value:
        """The adjoints of the elements of an array, as an array."""
        shape, dtype = traced.shape, traced.dtype
        found = [adjoints.get(int(n), dtype.type(0)) for n in np.ravel(traced.part)]
        if not shape:
            return found[0]
        return lifted(lambda values: np.array(values, np.result_type(*values) if values else dtype
                                              ).reshape(shape), found)

    def _add(self, adjoints: Adjoints, number: int, value: Value) -> None:
        if number:
            before = adjoints.get(number)
            adjoints[number] = value if before is None else self.plus(before, value)

    def plus(self, left: Value, right: Value) -> Value:
        """The sum of two tangents."""
        prim = _prim(left)
        return self.operation("or" if prim is Prim.BOOL else "add", prim, [left, right])

    def _custom(self, exp: ir.WithVjp, env: Env) -> list[Value]:
        args = [atom(a, env) for a in exp.args]
        level = highest(args)
        outside = highest([env[name] for name in free_vars(exp.lam) if name in env])
        level = level if outside is None or (level is not None and level.depth > outside.depth
                                             ) else outside
        if level is None or level.forward:
            return self.call(exp.lam, args, dict(env))[exp.kept:]
        around = {name: below(value, level) for name, value in env.items()}
        found = self.call(exp.lam, [below(a, level) for a in args], dict(around))
        kept, results = found[:exp.kept], found[exp.kept:]
        traced: list[Traced] = []

        def back(adjoints: Adjoints) -> None:
            seeds = [self._gathered(adjoints, t) for t in traced]
            given = self.call(exp.back, [*kept, *seeds], dict(around))
            for arg, adjoint in zip(args, given, strict=True):
                self._spread(adjoints, part_of(arg, level), adjoint)

        level.record(back)  # before its results, so that it is reached after them
        traced += [self._numbered(level, r) for r in results]
        return list(traced)

    # Scalars

    def operation(self, name: str, prim: Prim, args: list[Value]) -> Value:
        """A primitive operation."""
        level = highest(args)
        if level is None:
            if OPS[name].traps and prim.is_int and args[-1] == 0:
                raise ProgramFailure(failures.DIVISION)
            return operation(name, prim)(*args)
        if name in UNKNOWN:
            raise NoDerivative(f"The function {name} has no derivative here.", self.loc)
        values = [below(a, level) for a in args]
        result = self.operation(name, prim, values)
        partials = PARTIALS[name](_Numbers(self, prim), tuple(values), result)
        uses = [(part_of(a, level), self._linear(name, p)) for a, p in
                zip(args, partials, strict=True)
                if isinstance(a, Traced) and a.level is level and p is not None]
        return self._result(level, result, uses)

    def _result(self, level: Level, result: Value, uses: list[tuple[Value, Linear]]) -> Value:
        if not uses:
            return result
        if not level.forward:
            return Traced(level, result,
                          np.int64(level.record([(int(number), f) for number, f in uses])))
        first, *rest = [function(tangent) for tangent, function in uses]
        for term in rest:
            first = self.plus(first, term)
        return Traced(level, result, first)

    def _linear(self, name: str, partial: Partial[Value]) -> Linear:
        """A partial derivative as a function of a tangent, or of an adjoint."""
        def scaled(tangent: Value) -> Value:
            if name == "bits":
                return self.operation("bits", _prim(tangent), [tangent])
            prim = _prim(tangent)
            if partial.when is not None and not partial.when:
                return prim.dtype.type(0)
            if partial.factor is not None:
                product = "and" if prim is Prim.BOOL else "mul"
                tangent = self.operation(product, prim, [partial.factor, tangent])
            if partial.divisor is not None:
                tangent = self.operation("div", prim, [tangent, partial.divisor])
            return self.operation("neg", prim, [tangent]) if partial.negated else tangent
        return scaled

    def converted(self, from_: Prim, to: Prim, value: Value) -> Value:
        """A conversion."""
        if not isinstance(value, Traced):
            return convert(value, to)
        level = value.level
        result = self.converted(from_, to, value.value)
        if Prim.BOOL in (from_, to) or (from_.is_float and to.is_int):
            return result
        aim = to if level.forward else from_
        return self._result(level, result, [
            (value.part, lambda part: self.converted(_prim(part), aim, part))])

    # Constructs

    def exp(self, exp: ir.Exp, env: Env, stm: ir.Stm) -> list[Value]:
        """The results of an expression."""
        if not any(isinstance(env.get(name), Traced) for name in free_vars(exp)) and not (
                self.accumulators and isinstance(exp, ir.AccWrite)):
            return super().exp(exp, env, stm)
        match exp:
            case ir.PrimOp(op, prim, args):
                self.loc = stm.loc
                return [self.operation(op, prim, [atom(a, env) for a in args])]
            case ir.Convert(from_, to, arg):
                return [self.converted(from_, to, atom(arg, env))]
            case ir.Scatter(_, lam, arrays, dests):
                return self._scattered(dests, self._map(
                    int(atom(exp.width, env)), lam, arrays, env), env)
            case ir.Accumulate():
                return self._accumulated(exp, env)
            case ir.Jvp() | ir.Vjp() | ir.WithVjp():
                return self.derivative(exp, env)
            case ir.Loop() if any(is_recorded(env.get(name)) for name in free_vars(exp)):
                return self.loop(exp, env, stm.asked("bound"))
            case ir.ArrayLit(elems):
                return [lifted(np.array, [atom(a, env) for a in elems])]
        moved = _moved(exp)
        if moved is None:
            return super().exp(exp, env, stm)
        operands, node = moved
        names = [VName("operand", -1 - k) for k in range(len(operands))]
        clean = {name: plain(value) for name, value in env.items()}

        def run(values: list[Value]) -> Value:
            scope = clean | dict(zip(names, values, strict=True))
            return Interpreter.exp(self, node(names), scope, stm)[0]

        return [lifted(run, [atom(a, env) for a in operands])]

    def stack(self, rows: list[list[Value]], types: Sequence[Type], widths: tuple[int, ...],
              env: Env) -> list[Value]:
        """The columns of rows as arrays."""
        columns = list(zip(*rows, strict=True))
        if not any(isinstance(v, Traced) for column in columns for v in column):
            return super().stack(rows, types, widths, env)
        return [lifted(lambda values: np.array(values).reshape((*widths, *np.shape(values[0]))),
                       column) for column in columns]

    def _scan(self, ops: tuple[ir.Operator, ...], mapped: list[Value], env: Env) -> list[Value]:
        results: list[Value] = []
        for op in ops:
            count = len(op.neutral)
            columns, mapped = mapped[:count], mapped[count:]
            rows: list[list[Value]] = []
            for row in zip(*columns, strict=True):
                rows.append(self.call(op.lam, [*rows[-1], *row], dict(env)) if rows else list(row))
            results += self.stack(rows, op.lam.ret, (len(rows),), env) if rows else columns
        return results + mapped

    def _hist(self, ops: tuple[ir.HistOp, ...], mapped: list[Value], env: Env,
              outer: tuple[int, ...]) -> list[Value]:
        results: list[Value] = []
        values = mapped[len(ops):]
        for bins, hist in zip(mapped, ops, strict=False):
            count = len(hist.dests)
            rows = [list(row) for row in zip(*(env[d] for d in hist.dests), strict=True)]
            for bin_, *row in zip(bins, *values[:count], strict=True):
                if 0 <= int(bin_) < len(rows):
                    rows[int(bin_)] = self.call(hist.op.lam, [*rows[int(bin_)], *row], dict(env))
            values = values[count:]
            results += (self.stack(rows, hist.op.lam.ret, (len(rows),), env) if rows
                        else [env[d] for d in hist.dests])
        return results

    def _scattered(self, dests: tuple[ir.Dest, ...], mapped: list[Value], env: Env
                   ) -> list[Value]:
        results: list[Value] = []
        for dest in dests:
            array = env[dest.array]
            sizes = np.shape(plain(array))[:dest.rank]
            elements = {at: array[at] for at in np.ndindex(sizes)}
            for *at, value in zip(*mapped[:dest.rank + 1], strict=True):
                place = tuple(map(int, at))
                if place in elements:
                    elements[place] = value
            mapped = mapped[dest.rank + 1:]
            shape = np.shape(plain(array))
            results.append(lifted(lambda values, shape=shape: np.array(  # type: ignore[misc]
                values).reshape(shape), list(elements.values())) if elements else array)
        return results

    def _accumulated(self, exp: ir.Accumulate, env: Env) -> list[Value]:
        rows = [list(env[dest]) for dest in exp.dests]
        acc, scope = exp.lam.params[0].name, dict(env)
        self.accumulators[acc] = rows, exp.ops
        for i in range(int(atom(exp.width, env))):
            self.call(exp.lam, [np.False_, *(env[a][i] for a in exp.arrays)], scope)
        return [lifted(lambda values: np.array(values), row) if row else env[dest]
                for row, dest in zip(rows, exp.dests, strict=True)]


class _Numbers:
    """The algebra of values at a primitive type."""

    def __init__(self, machine: Oracle, prim: Prim) -> None:
        self.machine = machine
        self.prim = prim

    def op(self, name: str, *args: Value) -> Value:
        """A primitive operation at the type."""
        return self.machine.operation(name, self.prim, list(args))

    def const(self, value: float) -> Value:
        """A constant of the type."""
        return self.prim.dtype.type(value)

    def either(self, left: Value, right: Value) -> Value:
        """True if one of two conditions holds."""
        return self.machine.operation("or", Prim.BOOL, [left, right])


def _prim(value: Value) -> Prim:
    """The primitive type of a value."""
    dtype = plain(value).dtype
    return next(prim for prim in Prim if prim.dtype == dtype)


def _moved(exp: ir.Exp) -> tuple[tuple[Atom, ...], Callable[[list[VName]], ir.Exp]] | None:
    """The operands of a node that only moves elements, and the node on other operands."""
    match exp:
        case ir.AtomExp(operand):
            return (operand,), lambda names: ir.AtomExp(names[0])
        case ir.Replicate(shape, value):
            return (value,), lambda names: ir.Replicate(shape, names[0])
        case ir.Concat(dim, arrays, size):
            return arrays, lambda names: ir.Concat(dim, tuple(names), size)
        case ir.Update(array, _, value):
            return (array, value), lambda names: replace(exp, array=names[0], value=names[1])
        case ir.Pad(array=array, value=value):
            return (array, value), lambda names: replace(exp, array=names[0], value=names[1])
        case ir.Index(array=array) | ir.Rearrange(array=array) | ir.Reshape(array=array):
            return (array,), lambda names: replace(exp, array=names[0])
        case ir.Slide(array=array) | ir.Copy(array=array):
            return (array,), lambda names: replace(exp, array=names[0])
    return None
