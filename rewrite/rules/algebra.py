"""Scalar algebra.  Each law about floats holds bit by bit under IEEE 754."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir.meaning import apply, convert
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.syntax import AtomExp, Convert, Exp, PrimOp, Stm
from runelift.ir.types import FALSE, TRUE, Atom, Const
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope


@rule(PrimOp)
def fold_constants(scope: Scope, stm: Stm) -> Replacement:
    """c₁ ⊕ c₂ ⇒ the value

    Does not handle: integer division by zero, which fails when the program runs.
    """
    match stm.exp:
        case PrimOp(name, prim, args) if all(isinstance(a, Const) for a in args):
            values = [a.value for a in args if isinstance(a, Const)]
            if OPS[name].traps and prim.is_int and values[-1] == 0:
                return None
            return AtomExp(Const(apply(name, prim, *values).item(), OPS[name].result(prim)))
    return None


@rule(Convert)
def fold_conversion(scope: Scope, stm: Stm) -> Replacement:
    """convert c ⇒ the value"""
    match stm.exp:
        case Convert(from_, to, Const(value)):
            return AtomExp(Const(convert(from_.dtype.type(value), to).item(), to))
    return None


@rule(Convert)
def same_conversion(scope: Scope, stm: Stm) -> Replacement:
    """convert.t.t x ⇒ x"""
    match stm.exp:
        case Convert(from_, to, arg) if from_ is to:
            return AtomExp(arg)
    return None


@rule(Convert)
def conversion_chain(scope: Scope, stm: Stm) -> Replacement:
    """convert.t.u (convert.s.t x) ⇒ convert.s.u x

    Provided: every value of s is one of t, or all are integers and t has no fewer bits than u.
    Because: conversions depend on the value alone, and integers wrap modulo a power of two.
    Does not handle: an integer made a float and an integer again, which rounds it.
    """
    match stm.exp:
        case Convert(middle, to, arg):
            match scope.exp(arg):
                case Convert(from_, _, origin):
                    integers = from_.is_int and to.is_int
                    if integers and middle.is_float:
                        return None
                    wraps = integers and middle.is_int and to.bits <= middle.bits
                    if wraps or _lossless(from_, middle):
                        return Convert(from_, to, origin)
    return None


@rule(PrimOp, ops=[name for name, op in OPS.items() if op.neutral is not None])
def neutral_element(scope: Scope, stm: Stm) -> Replacement:
    """x ⊕ e ⇒ x

    Provided: e is the neutral element of ⊕ and the type is bool or an integer type.
    """
    match stm.exp:
        case PrimOp(name, prim, (x, y)) if not prim.is_float:
            neutral = OPS[name].neutral
            if neutral is None:
                return None
            if _is(y, neutral(prim)):
                return AtomExp(x)
            if _is(x, neutral(prim)) and OPS[name].commutative:
                return AtomExp(y)
    return None


@rule(PrimOp, ops=("mul", "div", "sub", "add"))
def float_neutral(scope: Scope, stm: Stm) -> Replacement:
    """x * 1 ⇒ x,  x / 1 ⇒ x,  x - 0 ⇒ x,  x + -0 ⇒ x

    Provided: the type is a float type.
    Because: these keep every float as it is; x + 0 does not, it turns -0 into 0.
    """
    match stm.exp:
        case PrimOp("mul" | "div", prim, (x, y)) if prim.is_float and _is(y, 1):
            return AtomExp(x)
        case PrimOp("mul", prim, (x, y)) if prim.is_float and _is(x, 1):
            return AtomExp(y)
        case PrimOp("sub", prim, (x, y)) if prim.is_float and y == Const(0.0, prim):
            return AtomExp(x)
        case PrimOp("add", prim, (x, y)) if prim.is_float:
            if y == Const(-0.0, prim):
                return AtomExp(x)
            if x == Const(-0.0, prim):
                return AtomExp(y)
    return None


@rule(PrimOp, ops=("mul", "and", "or", "min", "max"))
def absorbing_element(scope: Scope, stm: Stm) -> Replacement:
    """x * 0 ⇒ 0,  x && false ⇒ false,  x || true ⇒ true,  min x least ⇒ least

    Provided: the type is bool or an integer type.
    """
    match stm.exp:
        case PrimOp(name, prim, (x, y)) if not prim.is_float:
            least: int | float | bool = False if prim is Prim.BOOL else prim.least
            greatest: int | float | bool = True if prim is Prim.BOOL else prim.greatest
            ones = greatest if not prim.is_signed else -1
            zero = {"mul": 0, "and": 0, "or": ones, "min": least, "max": greatest}.get(name)
            if zero is not None and (_is(x, zero) or _is(y, zero)):
                return AtomExp(Const(bool(zero) if prim is Prim.BOOL else zero, prim))
    return None


@rule(PrimOp, ops=("sub", "shl", "shr", "lshr", "div", "quot", "pow", "mod", "rem"))
def right_neutral(scope: Scope, stm: Stm) -> Replacement:
    """x - 0 ⇒ x,  x / 1 ⇒ x,  x << 0 ⇒ x,  x ** 1 ⇒ x

    Provided: the type is an integer type for x - 0.
    Because: a power of floats takes as long as dozens of products.
    """
    match stm.exp:
        case PrimOp("sub" | "shl" | "shr" | "lshr", prim, (x, y)) if prim.is_int and _is(y, 0):
            return AtomExp(x)
        case PrimOp("div" | "quot" | "pow", _, (x, y)) if _is(y, 1):
            return AtomExp(x)
        case PrimOp("mod" | "rem", prim, (_, y)) if prim.is_int and _is(y, 1):
            return AtomExp(Const(0, prim))
    return None


@rule(PrimOp, ops=("pow",))
def cheap_power(scope: Scope, stm: Stm) -> Replacement:
    """x ** 2 ⇒ x * x,  x ** 0 ⇒ 1,  x ** -1 ⇒ 1 / x

    Provided: the type is a float type for x ** -1.
    Because: a power of floats takes as long as dozens of products.  A product or quotient is
        rounded once, so it is what a power is at best.
    """
    match stm.exp:
        case PrimOp("pow", prim, (x, y)) if _is(y, 2):
            return PrimOp("mul", prim, (x, x))
        case PrimOp("pow", prim, (_, y)) if _is(y, 0):
            return AtomExp(Const(1.0 if prim.is_float else 1, prim))
        case PrimOp("pow", prim, (x, y)) if prim.is_float and _is(y, -1):
            return PrimOp("div", prim, (Const(1.0, prim), x))
    return None


@rule(PrimOp, ops=("sub", "xor", "min", "max", "and", "or"))
def same_operands(scope: Scope, stm: Stm) -> Replacement:
    """x - x ⇒ 0,  x xor x ⇒ 0,  min x x ⇒ x,  x && x ⇒ x

    Provided: the type is no float type for the first two.
    """
    match stm.exp:
        case PrimOp("sub", prim, (x, y)) if x == y and prim.is_int:
            return AtomExp(Const(0, prim))
        case PrimOp("xor", prim, (x, y)) if x == y:
            return AtomExp(FALSE if prim is Prim.BOOL else Const(0, prim))
        case PrimOp("min" | "max" | "and" | "or", _, (x, y)) if x == y:
            return AtomExp(x)
    return None


@rule(PrimOp, ops=("eq", "le", "lt"))
def same_compared(scope: Scope, stm: Stm) -> Replacement:
    """x == x ⇒ true,  x <= x ⇒ true,  x < x ⇒ false

    Provided: the type is no float type, or the comparison is <.
    Because: a NaN is not equal to itself.
    """
    match stm.exp:
        case PrimOp("eq" | "le", prim, (x, y)) if x == y and not prim.is_float:
            return AtomExp(TRUE)
        case PrimOp("lt", _, (x, y)) if x == y:
            return AtomExp(FALSE)
    return None


@rule(PrimOp, ops=("eq",))
def compared_with_bool(scope: Scope, stm: Stm) -> Replacement:
    """x == true ⇒ x,  x == false ⇒ not x"""
    match stm.exp:
        case PrimOp("eq", Prim.BOOL, (x, y)):
            for this, other in ((x, y), (y, x)):
                if other == TRUE:
                    return AtomExp(this)
                if other == FALSE:
                    return PrimOp("not", Prim.BOOL, (this,))
    return None


@rule(PrimOp, ops=("eq",))
def converted_bool(scope: Scope, stm: Stm) -> Replacement:
    """number x == 0 ⇒ not x,  number x == 1 ⇒ x

    Provided: x is a bool.
    """
    match stm.exp:
        case PrimOp("eq", prim, (x, Const(number))) if prim is not Prim.BOOL:
            match scope.exp(x):
                case Convert(Prim.BOOL, _, origin) if number in (0, 1):
                    return AtomExp(origin) if number else PrimOp("not", Prim.BOOL, (origin,))
    return None


@rule(PrimOp, ops=("not", "neg"))
def double_negation(scope: Scope, stm: Stm) -> Replacement:
    """not (not x) ⇒ x,  -(-x) ⇒ x

    Because: negation of a float flips its sign bit, of an integer it wraps.
    """
    match stm.exp:
        case PrimOp("not" | "neg" as name, prim, (x,)):
            match scope.exp(x):
                case PrimOp(inner, same, (y,)) if inner == name and same is prim:
                    return AtomExp(y)
    return None


@rule(PrimOp, ops=("and", "or"))
def excluded_middle(scope: Scope, stm: Stm) -> Replacement:
    """x && not x ⇒ false,  x || not x ⇒ true"""
    match stm.exp:
        case PrimOp("and" | "or" as name, Prim.BOOL, (x, y)):
            negated = [PrimOp("not", Prim.BOOL, (a,)) for a in (x, y)]
            if scope.exp(x) == negated[1] or scope.exp(y) == negated[0]:
                return AtomExp(FALSE if name == "and" else TRUE)
    return None


@rule(PrimOp, ops=("not",))
def negated_comparison(scope: Scope, stm: Stm) -> Replacement:
    """not (x < y) ⇒ y <= x,  not (x <= y) ⇒ y < x

    Provided: the type is an integer type.
    Because: integers are totally ordered; floats with NaN are not.
    """
    match stm.exp:
        case PrimOp("not", Prim.BOOL, (cond,)):
            match scope.exp(cond):
                case PrimOp("lt", prim, (x, y)) if prim.is_int:
                    return PrimOp("le", prim, (y, x))
                case PrimOp("le", prim, (x, y)) if prim.is_int:
                    return PrimOp("lt", prim, (y, x))
    return None


@rule(PrimOp, ops=("add", "sub", "mul"))
def gather_constants(scope: Scope, stm: Stm) -> Replacement:
    """(x + c) + d ⇒ x + (c + d),  (x * c) * d ⇒ x * (c * d),  also with -

    Provided: the type is an integer type and c, d are constants.
    Because: wrapping integers are a ring.
    """
    found = _plus_constant(stm.exp)
    if found is not None:
        prim, x, d = found
        inner = _plus_constant(scope.exp(x))
        if inner is not None and inner[0] is prim:
            _, origin, c = inner
            total = _wrapped(prim, c + d)
            if prim.least < total.value < 0:  # as programs write it
                return PrimOp("sub", prim, (origin, Const(-total.value, prim)))
            return PrimOp("add", prim, (origin, total))
    match stm.exp:
        case PrimOp("mul", prim, (a, b)) if prim.is_int:
            for x, other in ((a, b), (b, a)):
                match other, scope.exp(x):
                    case Const(u), PrimOp("mul", _, (origin, Const(v)) | (Const(v), origin)):
                        return PrimOp("mul", prim, (origin, _wrapped(prim, int(u) * int(v))))
    return None


@rule(PrimOp, ops=("sub", "add"))
def cancel(scope: Scope, stm: Stm) -> Replacement:
    """(x + y) - y ⇒ x,  (x - y) + y ⇒ x,  x - (x - y) ⇒ y

    Provided: the type is an integer type.
    Because: wrapping integers are a group.
    """
    match stm.exp:
        case PrimOp("sub", prim, (a, b)) if prim.is_int:
            match scope.exp(a):
                case PrimOp("add", _, (x, y)) if b == y:
                    return AtomExp(x)
                case PrimOp("add", _, (x, y)) if b == x:
                    return AtomExp(y)
            match scope.exp(b):
                case PrimOp("sub", _, (x, y)) if x == a:
                    return AtomExp(y)
        case PrimOp("add", prim, (a, b)) if prim.is_int:
            for this, other in ((a, b), (b, a)):
                match scope.exp(this):
                    case PrimOp("sub", _, (x, y)) if y == other:
                        return AtomExp(x)
    return None


@rule(PrimOp, ops=("lt", "le"))
def comparison_known(scope: Scope, stm: Stm) -> Replacement:
    """x < 0 ⇒ false,  x < n ⇒ true,  x <= n ⇒ true

    Provided: the sizes and indices that x is made of say so.
    """
    match stm.exp:
        case PrimOp("lt", Prim.I64, (x, Const(0))) if scope.natural(x):
            return AtomExp(FALSE)
        case PrimOp("lt" | "le" as op, Prim.I64, (x, y)) if not isinstance(x, Const) and (
                scope.at_most(x, y, -1 if op == "lt" else 0)):
            return AtomExp(TRUE)
    return None


@rule(PrimOp, ops=("le",))
def size_not_negative(scope: Scope, stm: Stm) -> Replacement:
    """0 <= n ⇒ true

    Provided: n is made of sizes of arguments and indices.
    Does not handle: products of sizes, which may wrap.
    """
    match stm.exp:
        case PrimOp("le", Prim.I64, (Const(0), n)) if scope.natural(n):
            return AtomExp(TRUE)
    return None


def _plus_constant(exp: Exp | None) -> tuple[Prim, Atom, int] | None:
    """``x, c`` if ``exp`` is ``x + c``, ``c + x`` or ``x - c`` for a constant c."""
    match exp:
        case PrimOp("add", prim, (VName() as x, Const(c)) | (Const(c), VName() as x)) if (
            prim.is_int
        ):
            return prim, x, int(c)
        case PrimOp("sub", prim, (VName() as x, Const(c))) if prim.is_int:
            return prim, x, -int(c)
    return None


def _wrapped(prim: Prim, value: int) -> Const:
    """The constant that ``value`` is modulo two to the number of bits."""
    low = value % (1 << prim.bits)
    return Const(low - (1 << prim.bits) if low > prim.greatest else low, prim)


def _is(atom: Atom, value: int | float | bool) -> bool:
    return isinstance(atom, Const) and atom.value == value


def _lossless(from_: Prim, to: Prim) -> bool:
    """True if ``convert.from_.to`` keeps every value."""
    if from_ is to or from_ is Prim.BOOL:
        return True
    if to is Prim.BOOL:
        return False
    if from_.is_float:
        return to.is_float and from_.bits <= to.bits
    digits = from_.bits - from_.is_signed
    if to.is_float:
        return digits <= to.mantissa
    return digits <= to.bits - to.is_signed and (to.is_signed or not from_.is_signed)


ALGEBRA = RuleBook([
    fold_constants, fold_conversion, same_conversion, conversion_chain, neutral_element,
    float_neutral, absorbing_element, right_neutral, cheap_power, same_operands, same_compared,
    compared_with_bool, converted_bool, double_negation, excluded_middle, negated_comparison,
    gather_constants, cancel, comparison_known, size_not_negative,
])
