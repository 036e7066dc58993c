"""The partial derivatives of the primitive operations: a row for each row of :data:`.prim.OPS`.

A row is written in an :class:`Algebra`.  So one table makes statements, and computes numbers too.
docs/derivatives.md has the answers at kinks and poles.  A choice is a condition of a partial,
never a product with 0 or 1: a zero tangent must not meet an infinite factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from runelift.ir.prim import OPS, Prim

X = TypeVar("X")


class Algebra(Protocol[X]):
    """Operations at one type, on statements' atoms or on numbers."""

    prim: Prim

    def op(self, name: str, *args: X) -> X:
        """A primitive operation at the type."""

    def const(self, value: float) -> X:
        """A constant of the type."""

    def either(self, left: X, right: X) -> X:
        """True if one of two conditions holds."""


@dataclass(frozen=True, slots=True)
class Partial(Generic[X]):
    """A derivative by one operand, as what it does with the tangent of that operand.

    The tangent is negated, multiplied by ``factor`` or divided by ``divisor``.  Where the condition
    ``when`` does not hold, the answer is zero.
    """

    factor: X | None = None
    divisor: X | None = None
    when: X | None = None
    negated: bool = False


Row: TypeAlias = "Callable[[Any, tuple[Any, ...], Any], tuple[Partial[Any] | None, ...]]"
"""The partials by each operand, of an algebra, the operands and the result; None is zero."""

SAME: Partial[Any] = Partial()
OPPOSITE: Partial[Any] = Partial(negated=True)


def _unary(factor: Callable[[Any, Any, Any], Any]) -> Row:
    """One partial, a factor by the operand and the result."""
    return lambda a, args, r: (Partial(factor(a, args[0], r)),)


def _over(divisor: Callable[[Any, Any, Any], Any], *, negated: bool = False) -> Row:
    """One partial, the reciprocal of a divisor by the operand and the result."""
    return lambda a, args, r: (Partial(divisor=divisor(a, args[0], r), negated=negated),)


def _fixed(*partials: Partial[Any] | None) -> Row:
    return lambda a, args, r: partials


def _times(a: Any, factor: float, x: Any) -> Any:
    return a.op("mul", a.const(factor), x)


def _square(a: Any, x: Any) -> Any:
    return a.op("mul", x, x)


def _root_of(a: Any, left: Any, right: Any) -> Any:
    """The square root of a difference."""
    return a.op("sqrt", a.op("sub", left, right))


def _pow(a: Any, args: tuple[Any, ...], r: Any) -> tuple[Partial[Any] | None, ...]:
    x, y = args
    below = a.op("pow", x, a.op("sub", y, a.const(1)))
    factor = a.op("mul", y, below)
    if a.prim.is_int:
        return Partial(factor), None
    zero, one = a.const(0), a.const(1)
    away = a.either(a.either(a.op("lt", x, zero), a.op("lt", zero, x)), a.op("le", one, y))
    return (Partial(factor, when=away),
            Partial(a.op("mul", r, a.op("log", x)), when=a.op("lt", zero, x)))


def _extreme(swap: bool) -> Row:
    """Minimum, or maximum if swapped: the left one of equals."""
    def row(a: Any, args: tuple[Any, ...], r: Any) -> tuple[Partial[Any] | None, ...]:
        x, y = args
        left, right = (y, x) if swap else (x, y)
        return (Partial(when=a.op("le", left, right)),
                Partial(when=a.op("lt", x, y) if swap else a.op("lt", y, x)))
    return row


def _div(a: Any, args: tuple[Any, ...], r: Any) -> tuple[Partial[Any] | None, ...]:
    if a.prim.is_int:
        return None, None
    y = args[1]
    return Partial(divisor=y), Partial(a.op("div", r, y), negated=True)


def _mod(a: Any, args: tuple[Any, ...], r: Any) -> tuple[Partial[Any] | None, ...]:
    if a.prim.is_int:
        return SAME, None
    return SAME, Partial(a.op("trunc", a.op("div", *args)), negated=True)


def _abs(a: Any, args: tuple[Any, ...], r: Any) -> tuple[Partial[Any] | None, ...]:
    (x,) = args
    zero = a.const(0)
    return (Partial(a.op("sgn", x), when=a.either(a.op("lt", x, zero), a.op("lt", zero, x))),)


def _atan2(factor: float) -> Row:
    def row(a: Any, args: tuple[Any, ...], r: Any) -> tuple[Partial[Any] | None, ...]:
        y, x = args
        below = _times(a, factor, a.op("add", _square(a, x), _square(a, y)))
        return Partial(a.op("div", x, below)), Partial(a.op("div", y, below), negated=True)
    return row


def _copysign(a: Any, args: tuple[Any, ...], r: Any) -> tuple[Partial[Any] | None, ...]:
    one = a.const(1)
    signs = [a.op("copysign", one, x) for x in args]
    return Partial(a.op("mul", *signs)), None


def _div_sqrt(a: Any, args: tuple[Any, ...], r: Any) -> tuple[Partial[Any] | None, ...]:
    y = args[1]
    return Partial(divisor=a.op("sqrt", y)), Partial(_times(a, -0.5, a.op("div", r, y)))


def _scaled(name: str) -> Row:
    """A product with a power of two."""
    return lambda a, args, r: (Partial(a.op(name, a.const(1), args[1])), None)


def _erf(sign: float) -> Row:
    def factor(a: Any, x: Any, r: Any) -> Any:
        power = a.op("exp", a.op("neg", _square(a, x)))
        return _times(a, sign * 2 / math.sqrt(math.pi), power)
    return _unary(factor)


def _arc(scale: float, *, negated: bool = False) -> Row:
    """The inverse of sine or cosine."""
    return _over(lambda a, x, r: _times(a, scale, _root_of(a, a.const(1), _square(a, x))),
                 negated=negated)


def _arc_tangent(scale: float) -> Row:
    return _over(lambda a, x, r: _times(a, scale, a.op("add", a.const(1), _square(a, x))))


def _tangent(scale: float) -> Row:
    return _unary(lambda a, x, r: _times(a, scale, a.op("add", a.const(1), _square(a, r))))


_ZERO = {1: _fixed(None), 2: _fixed(None, None)}
PI = math.pi

PARTIALS: Mapping[str, Row] = {
    **{name: _ZERO[OPS[name].arity] for name in (
        "quot", "and", "or", "xor", "shr", "lshr", "eq", "lt", "le", "sgn", "popc", "clz", "ctz",
        "mul_hi", "floor", "ceil", "trunc", "round", "isnan", "isinf", "div_sqrt_easy")},
    "add": _fixed(SAME, SAME), "sub": _fixed(SAME, OPPOSITE),
    "mul": lambda a, args, r: (Partial(args[1]), Partial(args[0])), "div": _div,
    "mod": _mod, "rem": _mod, "pow": _pow, "min": _extreme(False), "max": _extreme(True),
    "shl": _scaled("shl"), "neg": _fixed(OPPOSITE), "abs": _abs,
    "not": lambda a, args, r: (Partial(args[0]) if a.prim is Prim.BOOL else OPPOSITE,),
    "sqrt": _over(lambda a, x, r: _times(a, 2, r)),
    "rsqrt": _unary(lambda a, x, r: _times(a, -0.5, a.op("div", r, x))),
    "div_sqrt": _div_sqrt, "div_sqrt_near": _div_sqrt,
    "cbrt": _over(lambda a, x, r: _times(a, 3, _square(a, r))),
    "exp": _unary(lambda a, x, r: r),
    "log": _over(lambda a, x, r: x),
    "log2": _over(lambda a, x, r: _times(a, math.log(2), x)),
    "log10": _over(lambda a, x, r: _times(a, math.log(10), x)),
    "log1p": _over(lambda a, x, r: a.op("add", a.const(1), x)),
    "sin": _unary(lambda a, x, r: a.op("cos", x)),
    "cos": _unary(lambda a, x, r: a.op("neg", a.op("sin", x))),
    "tan": _tangent(1),
    "sinpi": _unary(lambda a, x, r: _times(a, PI, a.op("cospi", x))),
    "cospi": _unary(lambda a, x, r: _times(a, -PI, a.op("sinpi", x))),
    "tanpi": _tangent(PI),
    "asin": _arc(1), "acos": _arc(1, negated=True), "atan": _arc_tangent(1),
    "asinpi": _arc(PI), "acospi": _arc(PI, negated=True), "atanpi": _arc_tangent(PI),
    "sinh": _unary(lambda a, x, r: a.op("cosh", x)),
    "cosh": _unary(lambda a, x, r: a.op("sinh", x)),
    "tanh": _unary(lambda a, x, r: a.op("sub", a.const(1), _square(a, r))),
    "asinh": _over(lambda a, x, r: a.op("hypot", a.const(1), x)),
    "acosh": _over(lambda a, x, r: _root_of(a, _square(a, x), a.const(1))),
    "atanh": _over(lambda a, x, r: a.op("sub", a.const(1), _square(a, x))),
    "erf": _erf(1), "erfc": _erf(-1),
    "atan2": _atan2(1), "atan2pi": _atan2(PI),
    "hypot": lambda a, args, r: tuple(Partial(a.op("div", x, r)) for x in args),
    "copysign": _copysign, "nextafter": _fixed(SAME, None), "ldexp": _scaled("ldexp"),
    "bits": _fixed(SAME), "fma": lambda a, args, r: (Partial(args[1]), Partial(args[0]), SAME),
}
"""The rows; ``bits`` passes its tangent through itself."""

UNKNOWN = frozenset({"gamma", "lgamma"})
"""Operations without a derivative here."""


def is_flat_at(name: str, prim: Prim) -> bool:
    """True if an operation has the derivative zero by all operands, so that no tangent passes."""
    return PARTIALS.get(name) in _ZERO.values() or (prim.is_int and name == "div")
