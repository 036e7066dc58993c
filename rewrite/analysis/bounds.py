"""Bounds: checks that cannot fail are removed.

A walk over the versioned IR collects facts about indices and sizes
(:mod:`runelift.ir.solver.inequalities`).  They come from the loops, index spaces, branches and
types around a statement.  With them the walk

* clears the ``checked`` mark of accesses that are proved to be inside,
* drops assertions that are proved to hold,
* marks divisions by what is proved to be positive,
* gives equal sizes one name.

Arithmetic wraps, so an operation on i64 is read as one on whole numbers only where its operands are
*tame*.  Tame are sizes of arrays, indices below them, and small multiples and sums of these.  They
stay far below 2^63, because no array has 2^47 elements.

The pass stands behind flattening.  An access that is inside because of the branch or loop around it
must not be moved out of it any more.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.solver.inequalities import Facts
from runelift.ir.traverse import body_of, is_flat, lambda_of, map_inside, stm_of
from runelift.ir.types import TRUE, Atom, Const, Type, i64, shape_of
from runelift.rewrite.engine.rule import Rewriting, rule

LARGEST_COEFFICIENT = 1 << 10
LARGEST_CONSTANT = 1 << 40
MOST_TERMS = 8
DIVISIONS = ("div", "mod", "quot", "rem")


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left op right`` for op in eq, lt, le."""

    op: str
    left: Size
    right: Size


@dataclass(frozen=True, slots=True)
class Connective:
    """``op`` in and, or, not of bool atoms."""

    op: str
    args: tuple[Atom, ...]


Condition: TypeAlias = Comparison | Connective


@rule(ir.Index, ir.Update)
def access_proved(known: Known, exp: ir.Exp) -> ir.Exp | None:
    """xs[i] ⇒ xs[i] without a check

    Provided: 0 <= i < n follows from the loops, spaces, branches and types around.
    """
    match exp:
        case (ir.Index(array, dims, True) | ir.Update(array, dims, _, True)) if (
                known.inside(array, dims)):
            return replace(exp, checked=False)
    return None


@rule(ir.Assert)
def assertion_proved(known: Known, exp: ir.Assert) -> bool:
    """assert c ⇒ nothing

    Provided: c follows from the loops, spaces, branches and types around.
    """
    return known.holds(exp.cond)


@rule(ir.PrimOp)
def size_known(known: Known, exp: ir.Exp, same: ir.Exp) -> ir.Exp:
    """x ⊕ y ⇒ z

    Provided: z is an atom that is equal, by the arithmetic of sizes and the loops, spaces,
    branches and types around; such as min (n - 1) i ⇒ i for an index i below n.
    """
    return same


@rule(ir.PrimOp)
def division_proved(known: Known, exp: ir.PrimOp) -> bool:
    """x / d ⇒ x / d without a check

    Provided: 1 <= d follows from the loops, spaces, branches and types around; such as for the size
    of a space, inside of it.
    """
    return (exp.prim is Prim.I64 and exp.op in DIVISIONS and exp.may_trap
            and known.facts.prove(known.value(exp.args[-1]) - 1))


PROVING = (access_proved, assertion_proved, division_proved, size_known)
"""The rules of this pass."""


def remove_checks(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` without checks that cannot fail."""
    funs = []
    for fun in program.funs:
        known = Known(rewriting)
        known.declare(fun.params)
        funs.append(replace(fun, body=known.body(fun.body)))
    return ir.Program(tuple(funs))


@dataclass(slots=True)
class Known:
    """The facts that hold at a place in the program."""

    rewriting: Rewriting
    facts: Facts = field(default_factory=Facts)
    values: dict[VName, Size] = field(default_factory=dict)
    tame: set[VName] = field(default_factory=set)
    conditions: dict[VName, Condition] = field(default_factory=dict)
    numbers: dict[Size, VName] = field(default_factory=dict)
    types: dict[VName, Type] = field(default_factory=dict)
    counting: dict[VName, Atom] = field(default_factory=dict)
    """Arrays [0, 1, ..., n - 1], and n."""
    divided: dict[tuple[Size, int], VName] = field(default_factory=dict)
    """Quotients and (under minus the divisor) remainders by constants."""

    def inner(self, *facts: Size) -> Known:
        """The facts of a place inside, where more holds."""
        return Known(self.rewriting, self.facts.given(*facts), dict(self.values), set(self.tame),
                     dict(self.conditions), dict(self.numbers), dict(self.types),
                     dict(self.counting), dict(self.divided))

    # Facts

    def learn(self, *facts: Size) -> None:
        """Learn that ``facts`` are not negative."""
        self.facts = self.facts.given(*(f for f in facts if f.constant is None))

    def bind(self, type_: Type) -> None:
        """Learn that all sizes of a type are not negative."""
        for size in shape_of(type_):
            if isinstance(size, VName) and size not in self.tame:
                self.tame.add(size)
                self.learn(self.value(size))

    def declare(self, params: Sequence[ir.Param]) -> None:
        """Declare names that are bound at this place."""
        for param in params:
            self.types[param.name] = param.type
            self.bind(param.type)

    def value(self, atom: Atom) -> Size:
        """An i64 atom over the names that are not defined by arithmetic."""
        if isinstance(atom, Const):
            return Size.of(int(atom.value))
        return self.values.get(atom, Size.var(atom))

    def _is_tame(self, atom: Atom) -> bool:
        if isinstance(atom, Const):
            return abs(int(atom.value)) < LARGEST_CONSTANT
        return atom in self.tame

    def below(self, index: VName, width: Atom) -> None:
        """Learn ``0 <= index < width``, which also says that the width is positive."""
        self.learn(Size.var(index), self.value(width) - Size.var(index) - 1)
        if self._is_tame(width):
            self.tame.add(index)

    def space(self, space: ir.Space) -> Known:
        """Inside of an index space."""
        known = self.inner()
        for dim in space:
            if dim.ragged is not None:
                known.learn(Size.var(dim.index))
                continue
            if isinstance(dim.width, VName) and dim.width not in known.tame:
                known.tame.add(dim.width)
            known.below(dim.index, dim.width)
        return known

    def assume(self, cond: Atom, truth: bool) -> None:
        """Learn that a condition is true, or that it is false."""
        condition = self.conditions.get(cond) if isinstance(cond, VName) else None
        match condition, truth:
            case Comparison("lt", left, right), True:
                self.learn(right - left - 1)
            case Comparison("lt", left, right), False:
                self.learn(left - right)
            case Comparison("le", left, right), True:
                self.learn(right - left)
            case Comparison("le", left, right), False:
                self.learn(left - right - 1)
            case Comparison("eq", left, right), True:
                self.learn(left - right, right - left)
            case Comparison("eq", left, right), False:
                for difference in (left - right, right - left):
                    if self.facts.prove(difference):
                        self.learn(difference - 1)
            case Connective("not", (arg,)), _:
                self.assume(arg, not truth)
            case (Connective("and", args), True) | (Connective("or", args), False):
                for arg in args:
                    self.assume(arg, truth)

    def holds(self, cond: Atom) -> bool:
        """True if a condition is proved to be true."""
        if isinstance(cond, Const):
            return bool(cond.value)
        match self.conditions.get(cond):
            case Comparison("lt", left, right):
                return self.facts.prove(right - left - 1)
            case Comparison("le", left, right):
                return self.facts.prove(right - left)
            case Comparison("eq", left, right):
                return self.facts.prove(left - right) and self.facts.prove(right - left)
            case Connective("and", args):
                return all(map(self.holds, args))
            case Connective("or", args):
                return any(map(self.holds, args))
        return False

    # Accesses

    def inside(self, array: VName, dims: Sequence[ir.Dim]) -> bool:
        """True if all indices are proved to be inside of ``array``."""
        shape = shape_of(self.types[array]) if array in self.types else ()
        return len(shape) == len(dims) and all(map(self._dim_inside, dims, shape))

    def _dim_inside(self, dim: ir.Dim, width: Atom) -> bool:
        size, prove = self.value(width), self.facts.prove
        if not isinstance(dim, ir.SliceDim):
            index = self.value(dim)
            return prove(index) and prove(size - index - 1)
        start, count = self.value(dim.start), self.value(dim.count)
        if dim.stride != i64(1) or not (self._is_tame(dim.start) and self._is_tame(dim.count)):
            return False
        return prove(start) and prove(count) and prove(size - start - count)

    # The walk

    def body(self, body: ir.Body) -> ir.Body:
        """The body without checks that the known facts make superfluous."""
        stms = []
        for stm in body.stms:
            new = self.statement(stm)
            if new is not None:
                stms.append(new)
        return body_of(body, stms, body.result)

    def statement(self, stm: ir.Stm) -> ir.Stm | None:
        """The statement with fewer checks; None for an assertion that holds."""
        exp = self._expression(stm)
        match exp:
            case ir.Assert(cond):
                if self.rewriting.permits(assertion_proved) and assertion_proved.apply(self, exp):
                    self.rewriting.record(assertion_proved, (stm,), ())
                    return None
                self.assume(cond, True)
            case ir.PrimOp():
                same = self._operation(stm.pat[0].name, exp)
                if isinstance(same, ir.AtomExp) and stm.pat[0].type is Prim.I64:
                    self._alias(stm.pat[0].name, same.atom)
                if self.rewriting.permits(division_proved) and division_proved.apply(self, exp):
                    proved = replace(stm, attrs=(*stm.attrs, failures.nonzero(exp.args[-1])))
                    self.rewriting.record(division_proved, (stm,), (proved,))
                    stm = proved
                if same is not exp and self.rewriting.permits(size_known):
                    exp = size_known.apply(self, exp, same)
                    self.rewriting.record(size_known, (stm,), (replace(stm, exp=exp),))
            case ir.Iota(count, Const(0), Const(1), Prim.I64):
                self.counting[stm.pat[0].name] = count
            case ir.AtomExp(atom) if stm.pat[0].type is Prim.I64:
                self._alias(stm.pat[0].name, atom)
        self.declare(stm.pat)
        return stm_of(stm, exp)

    def pass_by(self, stm: ir.Stm) -> None:
        """Learn the facts that hold after a statement."""
        if not is_flat(stm.exp):
            self.declare(stm.pat)
        else:
            self.statement(stm)

    def _alias(self, name: VName, atom: Atom) -> None:
        """Learn that ``name`` is another name for ``atom``."""
        self.values[name] = self.value(atom)
        if self._is_tame(atom):
            self.tame.add(name)

    def _expression(self, stm: ir.Stm) -> ir.Exp:
        exp = stm.exp
        match exp:
            case ir.Index() | ir.Update():
                if not self.rewriting.permits(access_proved):
                    return exp
                proved: ir.Exp | None = access_proved.apply(self, exp)
                if proved is not None:
                    self.rewriting.record(access_proved, (stm,), (replace(stm, exp=proved),))
                return proved or exp
            case ir.If(cond, then_, else_):
                yes, no = self.inner(), self.inner()
                yes.assume(cond, True)
                no.assume(cond, False)
                then, other = yes.body(then_), no.body(else_)
                same = then is then_ and other is else_
                return exp if same else replace(exp, then_=then, else_=other)
        if is_flat(exp):
            return exp
        known = self.within(exp)
        return map_inside(exp, lambda b: known.inner().body(b), known._lambda)

    def within(self, exp: ir.Exp) -> Known:
        """The facts inside of the bodies and lambdas of ``exp``, which is no branch."""
        match exp:
            case ir.Loop(params, form):
                known = self.inner()
                known.declare([p.param for p in params])
                if isinstance(form, ir.ForLoop):
                    known.below(form.index, form.bound)
                return known
            case ir.Recursion(params=params):
                known = self.inner()
                known.declare([p.param for p in params])
                return known
            case (ir.SegMap(_, space) | ir.SegScatter(_, space) | ir.SegRed(_, space)
                  | ir.SegScan(_, space)
                  | ir.SegHist(_, space) | ir.SegAccumulate(_, space)):
                # The operators see values only, but may stand anywhere in the space as well.
                return self.space(space)
            case (ir.Map(width, lam) | ir.Redomap(width, _, lam) | ir.Scanomap(width, _, lam)
                  | ir.Scatter(width, lam) | ir.Hist(width, _, lam)):
                some = self.inner(self.value(width) - 1)
                for param, array in zip(lam.params, exp.arrays, strict=True):
                    if array in self.counting:
                        some.below(param.name, self.counting[array])
                return some
        return self.inner()

    def _lambda(self, lam: ir.Lambda) -> ir.Lambda:
        known = self.inner()
        known.declare(lam.params)
        return lambda_of(lam, lam.params, known.body(lam.body), lam.ret)

    # Scalars

    def _operation(self, name: VName, exp: ir.PrimOp) -> ir.Exp:
        """Learn what an operation computes; another name for it if there is one."""
        if exp.prim is Prim.BOOL and exp.op in ("and", "or", "not"):
            self.conditions[name] = Connective(exp.op, exp.args)
        if exp.prim is not Prim.I64:
            return exp
        values = [self.value(arg) for arg in exp.args]
        match exp.op, values:
            case ("eq" | "lt" | "le"), [left, right]:
                self.conditions[name] = Comparison(exp.op, left, right)
                return ir.AtomExp(TRUE) if self.holds(name) else exp
            case ("min" | "max"), [left, right]:
                for larger, smaller in ((0, 1), (1, 0)):
                    if self.facts.prove(values[larger] - values[smaller]):
                        return ir.AtomExp(exp.args[larger if exp.op == "max" else smaller])
                self._extreme(name, exp.op, left, right)
            case ("div" | "quot" | "mod" | "rem"), [num, den]:
                if exp.op in ("div", "mod") or self.facts.prove(num):
                    self._division(name, exp, num, den)
            case ("add" | "sub" | "mul"), [left, right]:
                if all(map(self._is_tame, exp.args)):
                    return self._arithmetic(name, exp, left, right)
        return exp

    def _arithmetic(self, name: VName, exp: ir.PrimOp, left: Size, right: Size) -> ir.Exp:
        if exp.op == "mul" and left.constant is None and right.constant is None:
            return exp
        size = {"add": left + right, "sub": left - right, "mul": left * right}[exp.op]
        if not _small(size):
            return exp
        self.values[name] = size
        self.tame.add(name)
        if size.constant is not None:
            return ir.AtomExp(i64(size.constant))
        if len(size.terms) == 1 and size.terms[0][1] == 1:
            (only,) = size.terms[0][0]
            if isinstance(only, VName):
                return ir.AtomExp(only)
        known = self.numbers.setdefault(size, name)
        return exp if known == name else ir.AtomExp(known)

    def _extreme(self, name: VName, op: str, left: Size, right: Size) -> None:
        this = Size.var(name)
        sign = 1 if op == "max" else -1
        self.learn((this - left) * sign, (this - right) * sign)
        self.facts = self.facts.choice(name, left, right)
        if all(self.facts.prove(bound) for bound in (this, Size.of(LARGEST_CONSTANT) - this)):
            self.tame.add(name)

    def _division(self, name: VName, exp: ir.PrimOp, num: Size, den: Size) -> None:
        """Learn about a quotient or remainder towards minus infinity."""
        this = Size.var(name)
        if not self._is_tame(exp.args[0]) or not self.facts.prove(den - 1):
            return
        if exp.op in ("mod", "rem"):
            self.learn(this, den - this - 1)
            if self.facts.prove(num):
                self.learn(num - this)
        elif den.constant is not None:
            self.learn(num - this * den, this * den + den - num - 1)
        elif self.facts.prove(num):
            self.learn(this, num - this)
        else:
            return
        self.tame.add(name)
        if den.constant is not None:
            self._relate(name, exp.op in ("mod", "rem"), num, den.constant)

    def _relate(self, name: VName, remainder: bool, num: Size, den: int) -> None:
        """Learn ``num = den * quotient + remainder``, once both results are known."""
        self.divided[num, -den if remainder else den] = name
        other = self.divided.get((num, den if remainder else -den))
        if other is not None:
            rest, quotient = (name, other) if remainder else (other, name)
            difference = num - Size.var(quotient) * den - Size.var(rest)
            self.learn(difference, difference * -1)


def _small(size: Size) -> bool:
    return len(size.terms) <= MOST_TERMS and all(
        abs(c) <= (LARGEST_COEFFICIENT if m else LARGEST_CONSTANT) and len(m) <= 1
        for m, c in size.terms)
