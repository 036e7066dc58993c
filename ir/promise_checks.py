"""Promises put to the test: values for which an operator breaks one, and runs that tell so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, islice, product
from random import Random
from typing import Any, NamedTuple

import numpy as np

from runelift.ir import syntax as ir
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.interpret import Interpreter
from runelift.ir.prim import Prim
from runelift.ir.promises import IDEMPOTENT, Promise, Promised, component, promised
from runelift.ir.traverse import free_vars
from runelift.ir.types import Const
from runelift.ir.values import Env, Value, atom

SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "pow": "**", "quot": "//",
           "rem": "%%", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
TOLERANCE = {Prim.F16: 2e-2, Prim.F32: 1e-4, Prim.F64: 1e-9}
"""The part of its operands by which a floating-point result may differ: operations round."""
TRIPLES = 200
"""The most triples that are tried."""
SHOWN = 60
"""The most characters of a value in a message."""

Row = tuple[Value, ...]
"""A value of the type of an operator's operands: its components."""


class Breach(NamedTuple):
    """A promise that an operator breaks, with an example in words."""

    promise: Promise
    example: str


def known_breach(each: Promised) -> Breach | None:
    """A promise that an operator breaks by laws of arithmetic.

    Such an operator does one primitive operation for each component.  A neutral element that is
    the greatest value to come, as 0 is for ``max`` of sizes, does no harm.
    """
    for k in range(len(each.op.neutral)):
        part = component(each.op, k)
        if part is None or part.primitive is None:
            continue
        name, prim = part.primitive
        laws = [law for law in each.promises
                if law is not Promise.NEUTRAL or name not in IDEMPOTENT]
        rows = [(value,) for value in _small(prim)]
        first = rows[0], rows[1], rows[-1 if prim is Prim.BOOL else 2]
        triples = chain([first], product(rows, rows, rows))
        if (found := find_breach(part, laws, triples, {})) is not None:
            return found
    return None


def drawn_breach(each: Promised, seed: int = 0) -> Breach | None:
    """A promise that an operator breaks for random small values.

    None is found of an operator that takes arrays, or is made for other values around it.
    """
    types = [param.type for param in each.op.lam.params[:len(each.op.neutral)]]
    prims = [type_ for type_ in types if isinstance(type_, Prim)]
    if len(prims) < len(types) or free_vars(each.op.lam):
        return None
    fixed = all(isinstance(a, Const) for a in each.op.neutral) and (
        each.op.primitive is None or each.op.primitive[0] not in IDEMPOTENT)
    laws = [law for law in each.promises if fixed or law is not Promise.NEUTRAL]
    random = Random(seed)

    def row() -> Row:
        return tuple(random.choice(_small(prim)) for prim in prims)

    triples = ((row(), row(), row()) for _ in range(TRIPLES))
    return find_breach(each.op, laws, triples, {})


def _small(prim: Prim) -> Sequence[Value]:
    """Small values of a type; few operations on them round."""
    if prim is Prim.BOOL:
        return [np.False_, np.True_]
    numbers = [1, 2, 3, 4, 0] + [-1, -2] * (prim.is_float or prim.is_signed) + [
        0.5, 1.5] * prim.is_float
    return [prim.dtype.type(number) for number in numbers]


def find_breach(op: ir.Operator, laws: Sequence[Promise],
                triples: Iterable[tuple[Row, Row, Row]], env: Env) -> Breach | None:
    """The first promise that one of the triples breaks; None without such.

    ``env`` has the values of names that the operator uses.  Operands for which it fails say
    nothing.
    """
    machine = Interpreter()
    shown = _notation(op)

    def of(left: Row, right: Row) -> Row:
        return tuple(machine.call(op.lam, [*left, *right], env))

    for law, triple in product(laws, islice(triples, TRIPLES)):
        with np.errstate(all="ignore"), suppress(ProgramFailure):
            if (found := _CHECKS[law](op, of, triple, env, shown)) is not None:
                return Breach(law, found)
    return None


Apply = Callable[[Row, Row], Row]
Notation = Callable[[str, str], str]


def _associative(op: ir.Operator, of: Apply, triple: tuple[Row, Row, Row], env: Env,
                 shown: Notation) -> str | None:
    x, y, z = triple
    left, right = of(of(x, y), z), of(x, of(y, z))
    if _close(left, right, triple):
        return None
    a, b, c = map(_text, triple)
    one, other = shown(_inner(shown(a, b)), c), shown(a, _inner(shown(b, c)))
    return f"{one} is {_text(left)}, but {other} is {_text(right)}"


def _commutative(op: ir.Operator, of: Apply, triple: tuple[Row, Row, Row], env: Env,
                 shown: Notation) -> str | None:
    x, y, _ = triple
    left, right = of(x, y), of(y, x)
    if _close(left, right, triple):
        return None
    a, b = _text(x), _text(y)
    return f"{shown(a, b)} is {_text(left)}, but {shown(b, a)} is {_text(right)}"


def _neutral(op: ir.Operator, of: Apply, triple: tuple[Row, Row, Row], env: Env,
             shown: Notation) -> str | None:
    neutral, x = tuple(atom(a, env) for a in op.neutral), triple[0]
    for left, right in ((neutral, x), (x, neutral)):
        result = of(left, right)
        if not _close(result, x, (neutral, x)):
            return f"{shown(_text(left), _text(right))} is {_text(result)}, not {_text(x)}"
    return None


_CHECKS = {Promise.NEUTRAL: _neutral, Promise.ASSOCIATIVE: _associative,
           Promise.COMMUTATIVE: _commutative}


def _close(left: Row, right: Row, around: Sequence[Row]) -> bool:
    """True if two values are equal up to rounding on the way to them from values ``around``."""
    return all(_same(x, y, (*around, left, right)) for x, y in zip(left, right, strict=True))


def _same(x: Value, y: Value, around: Sequence[Row]) -> bool:
    one, other = np.asarray(x), np.asarray(y)
    if one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    finite = np.isfinite(one) & np.isfinite(other)
    scale = max((float(np.max(np.abs(part[np.isfinite(part)]), initial=0.0)) for row in around
                 for part in map(np.asarray, row) if part.dtype.kind == "f"), default=0.0)
    bound = next(TOLERANCE[p] for p in TOLERANCE if p.dtype == one.dtype) * scale * max(1.0, scale)
    wide, too = one.astype(np.float64), other.astype(np.float64)
    return bool(np.all(np.abs(wide - too)[finite] <= bound))


def _notation(op: ir.Operator) -> Notation:
    """The way in which an application of an operator is shown."""
    name = "op" if op.primitive is None else op.primitive[0]
    if name in SYMBOLS:
        return lambda left, right: f"{left} {SYMBOLS[name]} {right}"
    return lambda left, right: f"{name}({left}, {right})"


def _inner(application: str) -> str:
    return application if application.endswith(")") else f"({application})"


def _text(row: Row) -> str:
    """A value as a message shows it."""
    parts = [_number(part) for part in row]
    whole = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
    return whole if len(whole) <= SHOWN else f"{whole[:SHOWN]}..."


def _number(value: Any) -> str:
    if np.ndim(value):
        return f"[{', '.join(map(_number, value))}]"
    kind = np.asarray(value).dtype.kind
    return str(bool(value)).lower() if kind == "b" else f"{value:g}" if kind == "f" else str(value)


class Clash(NamedTuple):
    """A place of an array into which two elements write different values."""

    place: tuple[int, ...]
    first: str
    second: str


class PromiseRun(Interpreter):
    """An interpreter that checks promised properties for the values that occur.

    ``tell`` gets the statement and the violation, once for each statement.
    """

    def __init__(self, tell: Callable[[ir.Stm, str, Breach | Clash], None]) -> None:
        super().__init__()
        self._tell = tell
        self._random = Random(0)
        self._seen: set[int] = set()
        self._left: dict[int, int] = {}
        """The triples still to be tried, by the identity of the statement."""

    def look(self, exp: ir.Redomap | ir.Scanomap | ir.Scatter | ir.Hist, mapped: list[Value],
             env: Env, stm: ir.Stm) -> None:
        """Check what a statement's attributes promise, on the values of this run."""
        if id(stm) in self._seen:
            return
        if isinstance(exp, ir.Scatter):
            self._scattered(exp, mapped, env, stm)
        else:
            self._operators(exp, mapped, env, stm)

    def _operators(self, exp: ir.Redomap | ir.Scanomap | ir.Hist, mapped: list[Value], env: Env,
                   stm: ir.Stm) -> None:
        columns = mapped[len(exp.ops):] if isinstance(exp, ir.Hist) else mapped
        for each in promised(exp):
            count = len(each.op.neutral)
            mine, columns = columns[:count], columns[count:]
            width, left = len(mine[0]), self._left.get(id(stm), TRIPLES)
            if not width or left <= 0:
                continue
            tried = min(left, width + 2)
            self._left[id(stm)] = left - tried

            def row(mine: list[Value] = mine, width: int = width) -> Row:
                place = self._random.randrange(width)
                return tuple(column[place] for column in mine)

            triples = ((row(), row(), row()) for _ in range(tried))
            if (found := find_breach(each.op, each.promises, triples, env)) is not None:
                self._seen.add(id(stm))
                self._tell(stm, each.construct, found)
                return

    def _scattered(self, exp: ir.Scatter, mapped: list[Value], env: Env, stm: ir.Stm) -> None:
        for dest in exp.dests:
            indices, values = mapped[:dest.rank], mapped[dest.rank]
            mapped = mapped[dest.rank + 1:]
            shape, written = env[dest.array].shape, dict[tuple[int, ...], Value]()
            for k, value in enumerate(values):
                place = tuple(int(index[k]) for index in indices)
                if any(not 0 <= at < size for at, size in zip(place, shape, strict=False)):
                    continue
                before = written.setdefault(place, value)
                if not np.array_equal(before, value, equal_nan=values.dtype.kind == "f"):
                    self._seen.add(id(stm))
                    self._tell(stm, "scatter", Clash(place, _text((before,)), _text((value,))))
                    return
