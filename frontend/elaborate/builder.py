"""Emission of core statements, with hoisting and sharing of size arithmetic.

Sizes must be visible outside of the lambda that uses them, or flattening would take a regular
array for an irregular one.  So integer arithmetic that cannot fail is emitted in the outermost
scope in which its operands are known, and the same computation is emitted once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from runelift.frontend.syntax.attributes import steers_flattening
from runelift.ir.base.source import Loc, Span
from runelift.ir.integers import compute, computes, wrapping
from runelift.ir.names import Names, VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.syntax import AtomExp, Body, Convert, Exp, Lambda, Param, PrimOp, Stm
from runelift.ir.traverse import free_vars, is_flat
from runelift.ir.types import ArrayType, Atom, Const, Type

HOISTED = frozenset({"add", "sub", "mul", "min", "max", "eq", "lt", "le"})
"""Integer operations that cannot fail and cost next to nothing."""

COMMUTATIVE = frozenset({"add", "mul", "min", "max", "eq"})

STATEMENT_BUDGET = 200_000
"""The most statements that a program may have after inlining."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The most ``calls`` that are inlined, and ``components`` of a value, a variable each."""

    calls: int = 1_000_000
    components: int = 100_000


FULL_EFFORT = Effort()


@dataclass(slots=True)
class Scope:
    """The statements of a body under construction, and the values already computed in it."""

    stms: list[Stm] = field(default_factory=list)
    known: dict[Hashable, Atom] = field(default_factory=dict)
    bound: set[VName] = field(default_factory=set)
    lengths: set[VName] = field(default_factory=set)
    """Lengths of arrays that are bound here, which are therefore not negative."""

    def bind(self, params: Iterable[Param]) -> None:
        """Note names that the current scope binds, and the names of lengths in their types."""
        for param in params:
            self.bound.add(param.name)
            if isinstance(param.type, ArrayType):
                self.lengths.update(n for n in param.type.shape if isinstance(n, VName))


class Builder:
    """Appends statements to the innermost body, or to an outer body where operands allow it."""

    def __init__(self, names: Names, *, steered: bool = True) -> None:
        self.names = names
        self.steered = steered
        """Attributes that steer flattening are kept."""
        self.scopes: list[Scope] = [Scope()]
        self.calls: tuple[Loc, ...] = ()
        self.attrs: dict[int, tuple[str, ...]] = {}
        self.emitted = 0
        self.inlined = 0
        """The number of calls that are inlined so far."""

    def fresh(self, base: str, type_: Type) -> Param:
        """A parameter with a fresh name, bound in the innermost scope."""
        param = Param(self.names.fresh(base), type_)
        self.scopes[-1].bind((param,))
        return param

    @contextmanager
    def scope(self) -> Iterator[Scope]:
        """A body inside the present one."""
        inner = Scope()
        self.scopes.append(inner)
        try:
            yield inner
        finally:
            self.scopes.pop()

    @contextmanager
    def attribute(self, attr: str) -> Iterator[None]:
        """Statements of the innermost body get an attribute; statements in bodies inside do not."""
        if not self.steered and steers_flattening(attr):
            yield
            return
        depth = len(self.scopes)
        before = self.attrs.get(depth, ())
        self.attrs[depth] = (*before, attr)
        try:
            yield
        finally:
            self.attrs[depth] = before

    @contextmanager
    def reopen(self, scope: Scope) -> Iterator[None]:
        """Append to a body that was left before."""
        self.scopes.append(scope)
        try:
            yield
        finally:
            self.scopes.pop()

    def emit(self, exp: Exp, types: tuple[Type, ...], bases: tuple[str, ...],
             span: Span | None) -> tuple[VName, ...]:
        """Bind the results of ``exp`` to fresh names."""
        pat = tuple(self.fresh(base, type_) for base, type_ in zip(bases, types, strict=True))
        self.emit_stm(pat, exp, span)
        return tuple(p.name for p in pat)

    def emit_stm(self, pat: tuple[Param, ...], exp: Exp, span: Span | None) -> None:
        """Append ``let pat = exp``."""
        self.emitted += 1
        loc = Loc.of(span, self.calls) if span else None
        self.scopes[-1].bind(pat)
        attrs = self.attrs.get(len(self.scopes), ())
        self.scopes[-1].stms.append(Stm(pat, exp, attrs, loc))

    def note_name(self, atom: Atom, name: str) -> None:
        """Note the variable of the source for what the last statement computes, if it has a body.

        Rewrite points have places by these names.
        """
        stms = self.scopes[-1].stms
        if stms and not is_flat(stms[-1].exp) and (loc := stms[-1].loc) is not None and any(
                p.name == atom for p in stms[-1].pat):
            stms[-1] = replace(stms[-1], loc=replace(loc, name=name))

    def emit1(self, exp: Exp, type_: Type, base: str, span: Span | None) -> VName:
        """Emit an expression with a single result (:meth:`emit`)."""
        return self.emit(exp, (type_,), (base,), span)[0]

    def op(self, name: str, prim: Prim, args: tuple[Atom, ...], span: Span | None,
           base: str = "t") -> Atom:
        """The value of a primitive operation, computed now if it is of constant integers."""
        result = OPS[name].result(prim)
        trap = OPS[name].traps and prim.is_int
        values = [a.value for a in args if isinstance(a, Const)]
        constant = computes(name, prim) and len(values) == len(args)
        if constant and not (trap and values[-1] == 0):
            return Const(compute(name, prim, *map(int, values)), result)
        if (same := _identity(name, prim, args)) is not None:
            return same
        exp = PrimOp(name, prim, args)
        safe = name in HOISTED or (trap and isinstance(args[-1], Const) and args[-1].value > 0)
        if prim.is_int and safe:
            return self._outermost(exp, args, result, base, span)
        if prim.is_int:
            return self._once(exp, result, base, span)
        return self.emit1(exp, result, base, span)

    def _once(self, exp: PrimOp, type_: Prim, base: str, span: Span | None) -> Atom:
        """Emit ``exp``, which may fail or be slow, unless an enclosing body has computed it."""
        key = _key(exp)
        if (found := self.computed(key)) is not None:
            return found
        name = self.emit1(exp, type_, base, span)
        self.remember(key, name)
        return name

    def is_length(self, size: Atom) -> bool:
        """True if ``size`` is known to be the length of an array."""
        return any(size in scope.lengths for scope in self.scopes)

    def computed(self, key: Hashable) -> Atom | None:
        """The atom that this body, or an enclosing body, has computed for ``key``."""
        for scope in reversed(self.scopes):
            if (found := scope.known.get(key)) is not None:
                return found
        return None

    def remember(self, key: Hashable, atom: Atom) -> None:
        """Note that this body has computed ``key``."""
        self.scopes[-1].known[key] = atom

    def convert(self, from_: Prim, to: Prim, arg: Atom, span: Span | None) -> Atom:
        """``arg`` as a ``to``."""
        if from_ is to:
            return arg
        if isinstance(arg, Const) and from_.is_int and to.is_int:
            return Const(wrapping(to)(int(arg.value)), to)
        exp = Convert(from_, to, arg)
        if from_.is_int and to.is_int:
            return self._outermost(exp, (arg,), to, "t", span)
        return self.emit1(exp, to, "t", span)

    def _outermost(self, exp: Exp, args: tuple[Atom, ...], type_: Prim, base: str,
                   span: Span | None) -> Atom:
        """Emit ``exp`` where its arguments are first known, or find where that was done."""
        depth = max((self._depth(a) for a in args if isinstance(a, VName)), default=0)
        scope, key = self.scopes[depth], _key(exp)
        if (found := scope.known.get(key)) is not None:
            return found
        name = self.names.fresh(base)
        loc = Loc.of(span, self.calls) if span else None
        scope.stms.append(Stm((Param(name, type_),), exp, (), loc))
        scope.bound.add(name)
        scope.known[key] = name
        self.emitted += 1
        return name

    def _depth(self, name: VName) -> int:
        """The innermost scope that binds ``name``."""
        for depth in range(len(self.scopes) - 1, -1, -1):
            if name in self.scopes[depth].bound:
                return depth
        return 0

    def visible(self, atom: Atom, inside: Scope) -> bool:
        """True if ``atom`` is known outside of the body that was built as ``inside``."""
        return isinstance(atom, Const) or atom not in inside.bound

    def release(self, atom: Atom, inside: Scope) -> bool:
        """Make ``atom`` known outside of the body that was built as ``inside``, if it can be.

        The statements that compute it leave the body, with the checks of the same operations.  They
        stay if they depend on the parameters.  They also stay if they make an array that a
        remaining statement uses, since that statement may consume the array.
        """
        leaving = _needed((atom,), inside)
        if leaving is None:
            return False
        places = {stm.loc for stm in leaving.values()}
        for stm in inside.stms:
            if not stm.pat and stm.loc in places and (
                    needed := _needed(free_vars(stm), inside)) is not None:
                leaving |= needed | {id(stm): stm}
        kept = [stm for stm in inside.stms if id(stm) not in leaving]
        out = [stm for stm in inside.stms if id(stm) in leaving]
        arrays = {p.name for stm in out for p in stm.pat if isinstance(p.type, ArrayType)}
        if any(not arrays.isdisjoint(free_vars(stm)) for stm in kept):
            return False
        names = {p.name for stm in out for p in stm.pat}
        inside.stms[:] = kept
        inside.bound -= names
        self.scopes[-1].stms += out
        self.scopes[-1].bound |= names
        return True

    def body(self, scope: Scope, result: tuple[Atom, ...]) -> Body:
        """The body that was built as ``scope``."""
        return Body(tuple(scope.stms), result)

    def lambda_(self, params: tuple[Param, ...], scope: Scope, result: tuple[Atom, ...],
                ret: tuple[Type, ...]) -> Lambda:
        """A lambda whose body was built as ``scope``."""
        return Lambda(params, self.body(scope, result), ret)

    def rename(self, atom: Atom, type_: Type, span: Span | None) -> VName:
        """A name for an atom."""
        return atom if isinstance(atom, VName) else self.emit1(AtomExp(atom), type_, "c", span)


def _needed(atoms: Iterable[Atom], inside: Scope) -> dict[int, Stm] | None:
    """The statements of a body that compute ``atoms``, by identity; None if its parameters do."""
    made = {p.name: stm for stm in inside.stms for p in stm.pat}
    found: dict[int, Stm] = {}
    wanted = list(atoms)
    while wanted:
        name = wanted.pop()
        if isinstance(name, Const) or name not in inside.bound:
            continue
        if name not in made:
            return None
        if id(made[name]) not in found:
            found[id(made[name])] = made[name]
            wanted += free_vars(made[name])
    return found


def _key(exp: Exp) -> Exp:
    """The normal form of equal integer operations: ``1 + n``, ``n + 1`` and ``n - -1``."""
    match exp:
        case PrimOp("sub", prim, (x, Const(value))):
            return PrimOp("add", prim, (x, Const(compute("sub", prim, 0, int(value)), prim)))
        case PrimOp(op, prim, (Const() as x, VName() as y)) if op in COMMUTATIVE:
            return PrimOp(op, prim, (y, x))
        case PrimOp(op, prim, (VName(_, first) as x, VName(_, second) as y)) if (
                op in COMMUTATIVE and first > second):
            return PrimOp(op, prim, (y, x))
    return exp


def _identity(name: str, prim: Prim, args: tuple[Atom, ...]) -> Atom | None:
    """The result where an integer operation with a constant is trivial."""
    if not prim.is_int:
        return None
    zero, one = Const(0, prim), Const(1, prim)
    match name, args:
        case "add", (x, y) if x == zero:
            return y
        case ("add" | "sub", (x, y)) if y == zero:
            return x
        case "mul", (x, y) if x == one:
            return y
        case ("mul" | "div" | "quot", (x, y)) if y == one:
            return x
        case "sub", (x, y) if x == y:
            return zero
    return None
