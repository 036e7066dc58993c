"""Scalars, sizes and scalar operations of host plans as Python expressions.

Common scalar operations are Python's, followed by ``wrap_i32`` and the like.  Any other operation
is ``apply``, the meaning that OPS states.
"""

from __future__ import annotations

from collections.abc import Iterable

from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint, Relation
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Applied, CeilDiv, Factor, Greatest, Least, Size
from runelift.ir.types import Atom, Const


def variable(name: VName) -> str:
    """A name as a variable of Python."""
    return str(name).replace("'", "_q")


def atom_text(atom: Atom) -> str:
    """A scalar as a Python expression."""
    if isinstance(atom, VName):
        return variable(atom)
    value = atom.value
    if atom.prim.is_float:
        return f"float({str(float(value))!r})"
    return repr(bool(value)) if atom.prim is Prim.BOOL else repr(int(value))


def further(atoms: tuple[Atom, ...]) -> str:
    """Scalars as further arguments of a call."""
    return "".join(f", {atom_text(a)}" for a in atoms)


def tuple_text(atoms: Iterable[Atom]) -> str:
    """Scalars as the text of a Python tuple."""
    return f"({''.join(f'{atom_text(a)}, ' for a in atoms)})"


def size_text(size: Size) -> str:
    """A size as a Python expression."""
    if not size.terms:
        return "0"
    parts = []
    for monomial, coefficient in size.terms:
        factors = [_factor(f) for f in monomial]
        if coefficient != 1 or not factors:
            factors.insert(0, str(coefficient))
        parts.append("*".join(factors))
    return " + ".join(parts)


def _factor(factor: Factor) -> str:
    match factor:
        case VName():
            return variable(factor)
        case CeilDiv(num, den):
            return f"-(-({size_text(num)}) // ({size_text(den)}))"
        case Least(sizes):
            return f"min({', '.join(map(size_text, sizes))})"
        case Greatest(sizes):
            return f"max({', '.join(map(size_text, sizes))})"
        case Applied():
            raise CompilerBug(f"the host plan has an unresolved size {factor}")


def index_text(exp: imp.Exp) -> str:
    """An index expression; all its operands are non-negative."""
    match exp:
        case imp.Var(name):
            return variable(name)
        case imp.Lit(const):
            return atom_text(const)
        case imp.Apply(op, _, (left, right)):
            symbol = {"add": "+", "sub": "-", "mul": "*", "quot": "//", "rem": "%",
                      "div": "//", "mod": "%"}[op]
            return f"({index_text(left)} {symbol} {index_text(right)})"
        case imp.Convert(_, _, arg):
            return index_text(arg)
    raise AssertionError(f"{exp} is no index on the host")


def loc_text(loc: Loc | None) -> str:
    """A place in the source, with the calls that led there, as a string."""
    if loc is None:
        return "''"
    return repr("\n".join([f"{loc}", *loc.trace()]))


_COMPARISONS = {"eq": "==", "lt": "<", "le": "<="}
_WRAPPING = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} // {}", "neg": "-{}"}
_CLOSED = {"mod": "{} % {}", "min": "min({}, {})", "max": "max({}, {})",
           "and": "{} & {}", "or": "{} | {}", "xor": "{} ^ {}"}
_INTEGER = frozenset({"shl", "shr", "quot", "rem", "clz", "popc", "pow", "abs", "sgn", "not"})
_DOUBLE = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "neg": "-{}"}
_BOOLEAN = {"and": "{} and {}", "or": "{} or {}", "xor": "{} != {}", "not": "not {}"}


def operation_text(op: str, prim: Prim, args: list[str]) -> str:
    """A scalar operation as a Python expression; divisors are not zero."""
    if op in _COMPARISONS:
        return f"{args[0]} {_COMPARISONS[op]} {args[1]}"
    if prim.is_int and op in _WRAPPING:
        return f"wrap_{prim}({_WRAPPING[op].format(*args)})"
    if prim.is_int and op in _INTEGER:
        return f"wrap_{prim}(int_{op}({', '.join(args)}, {prim.bits}))"
    exact = _CLOSED if prim.is_int else _BOOLEAN if prim is Prim.BOOL else (
        _DOUBLE if prim is Prim.F64 else {})
    if op in exact:
        return exact[op].format(*args)
    return f"apply({op!r}, {prim.value!r}, {', '.join(args)})"


def conversion_text(from_: Prim, to: Prim, arg: str) -> str:
    """A conversion as a Python expression."""
    if from_ is to:
        return arg
    if from_ is Prim.BOOL and to.is_int:
        return f"int({arg})"
    if from_.is_int and to.is_int:
        fits = to.least <= from_.least and from_.greatest <= to.greatest
        return arg if fits else f"wrap_{to}({arg})"
    if from_.is_int and to is Prim.F64:
        return f"float({arg})"
    return f"convert({from_.value!r}, {to.value!r}, {arg})"


def value_text(value: object) -> str:
    """A part of a launch shape as a Python expression."""
    match value:
        case VName() | Const():
            return atom_text(value)
        case Size():
            return size_text(value)
        case tuple():
            return f"({''.join(f'{value_text(each)}, ' for each in value)})"
    return repr(value)


def constraint_text(need: Constraint) -> str:
    """A constraint as a Python expression."""
    left, right = f"({size_text(need.left)})", f"({size_text(need.right)})"
    match need.kind:
        case Relation.DIVIDES:
            return f"({left} > 0 and {right} % {left} == 0)"
        case Relation.AT_LEAST:
            return f"{left} >= {right}"
        case Relation.EQUAL:
            return f"{left} == {right}"
