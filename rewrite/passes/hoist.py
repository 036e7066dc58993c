"""Hoisting: code that does not depend on a lambda, loop or branch leaves it.

Flattening takes an array for irregular when its sizes are computed inside of the nest, so sizes
must leave as far as they can.  A statement leaves a lambda or a loop only if it cannot fail,
because the lambda may run for no element.  It leaves a branch only if it computes a size.

After fusion, arrays that are made from nothing but counters leave, too: they are stored in any
case.  Before it, they would be out of reach of what they could be fused with.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_names
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.sizes import Size, product
from runelift.ir.traverse import (
    Mapper,
    bodies_of,
    body_of,
    free_vars,
    is_flat,
    lambda_of,
    lambdas_of,
    map_exp,
    stm_of,
    substitute_stm,
    uses,
)
from runelift.ir.types import ArrayType, Atom, Const, i64, shape_of, zero
from runelift.rewrite.engine.pick import names_in
from runelift.rewrite.engine.rule import Rewriting, rule
from runelift.rewrite.engine.scalar_code import total_division
from runelift.rewrite.engine.scope import Scope, is_counting
from runelift.rewrite.rules.unused import sizes_of

LEAVING = (ir.PrimOp, ir.Convert, ir.Index, ir.Rearrange, ir.Reshape, ir.Slide, ir.Pad,
           ir.ArrayLit, ir.Concat, ir.If, ir.Loop, ir.Map, ir.Redomap, ir.Scanomap)
"""Expressions that are hoisted.  Iota and replicate are made faster than they are read."""
STORED = (ir.Map, ir.Redomap, ir.Scanomap, ir.Loop, ir.ArrayLit, ir.Concat, ir.Rearrange,
          ir.Reshape)
"""Expressions that are hoisted together with the counters and constants that they read."""

DIVISIONS = ("div", "mod", "quot", "rem")
"""Operations that fail if their second argument is 0, and else succeed."""


class Around(Enum):
    """The kind of construct that a body belongs to."""

    FUN = "fun"
    NONEMPTY = "nonempty"
    LAMBDA = "lambda"
    LOOP = "loop"
    BRANCH = "branch"


@dataclass(slots=True)
class _Frame:
    """A body: the innermost branch and lambda that are at its level or around it, by level.

    ``in_lambda``: it is a lambda or is inside of one.
    """

    around: Around
    branch: int = 0
    lambda_: int = 0
    in_lambda: bool = False
    out: list[ir.Stm] = field(default_factory=list)


def hoist(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with invariant statements as far out as they may go."""
    consumed = consumed_names(program)
    return ir.Program(tuple(Hoister(rewriting, consumed, size_names(fun)).fun(fun)
                         for fun in program.funs))


def hoist_arrays(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """As :func:`hoist`, also for what reads counters and replicated values of the lambda."""
    consumed = consumed_names(program)
    return ir.Program(tuple(
        Hoister(rewriting, consumed, size_names(fun), after_fusion=True).fun(fun)
        for fun in program.funs))


@rule(*LEAVING)
def hoist_invariant(hoister: Hoister, stm: ir.Stm) -> int | None:
    """map (λx → let y = e₁ in e₂) xs ⇒ let y = e₁ in map (λx → e₂) xs

    Provided: x does not occur in e₁, e₁ cannot fail even where the map has no elements, and
    nothing consumes y.  The statement also leaves loops, and branches if y is a size.
    Does not handle: scalars that a kernel left on the device, which the host would have to read.
    """
    here = len(hoister.frames) - 1
    outermost = max((hoister.level.get(name, 0) for name in free_vars(stm)), default=0)
    for target in range(max(outermost, hoister.least_target(stm)), here):
        if hoister.may_leave(stm, target):
            return target
    return None


@rule(*STORED)
def hoist_stored(hoister: Hoister, stm: ir.Stm) -> int | None:
    """map (λx → let is = iota n, y = map f is in e) xs ⇒ let y = map f (iota n) in map (λx → e) xs

    Provided: as for hoist_invariant; the size of y is no constant.  If n is known to be no negative
    number only where the map has elements, map and y are in a branch for that.
    Because: what was not fused is stored, and so is made once instead of once for each x.
    Does not handle: arrays of constant size, which work-items have in registers.
    """
    types = [p.type for p in stm.pat]
    if any(shape_of(each) and all(isinstance(size, Const) for size in shape_of(each))
           for each in types):
        return None
    read = free_vars(stm)
    made = [hoister.made[name] for name in read if name in hoister.made]
    if not made:
        return None
    needed = (read - hoister.made.keys()).union(*map(free_vars, made))
    here = len(hoister.frames) - 1
    for target in range(max((hoister.level.get(name, 0) for name in needed), default=0), here):
        if hoister.may_leave(stm, target) and all(hoister.cannot_fail(each, target)
                                                  for each in made):
            return target
    return None


@rule(ir.PrimOp)
def hoist_quotient(hoister: Hoister, stm: ir.Stm) -> tuple[int, list[ir.Stm], ir.Stm] | None:
    """map (λx → let y = a / b in e) xs ⇒ let y = a / (b or 1) in map (λx → assert b ≠ 0; e) xs

    Provided: x occurs neither in a nor in b, and y is a size.  The rule also takes other divisions
        and remainders.
    Because: a width that is known outside of a map makes what is inside regular.
    """
    exp = stm.exp
    if not isinstance(exp, ir.PrimOp) or exp.op not in DIVISIONS:
        return None
    target = max((hoister.level.get(each, 0) for each in free_vars(stm)), default=0)
    if (hoister.cannot_fail(stm, target) or stm.pat[0].name not in hoister.sizes
            or hoister.frames[-1].lambda_ <= target):
        return None
    before, check, division = total_division(stm, hoister.scope.names)
    return target, [*before, division], check


class Hoister:
    """The state of the walk over one function: the bodies around, and where names are bound.

    ``made`` holds counters and replicated values inside of lambdas and loops.  ``unless_empty``
    holds sizes that are no negative numbers unless a width is 0, by this width.
    """

    def __init__(self, rewriting: Rewriting, consumed: frozenset[VName],
                 sizes: frozenset[VName], *, after_fusion: bool = False) -> None:
        self.rewriting = rewriting
        self.scope = Scope(rewriting.names, consumed)
        self.sizes = sizes
        self.frames: list[_Frame] = []
        self.level: dict[VName, int] = {}
        self.lengths: dict[VName, int] = {}
        self.after_fusion = after_fusion
        self.made: dict[VName, ir.Stm] = {}
        self.unless_empty: dict[Atom, set[VName]] = {}
        self.deep = Mapper(lambda a: a, lambda name: name, lambda b: self.body(b, Around.BRANCH),
                           self.lambda_)

    def fun(self, fun: ir.Fun) -> ir.Fun:
        """The function with its invariant statements hoisted."""
        self.bind(fun.params, 0)
        return replace(fun, body=self.body(fun.body, Around.FUN))

    def bind(self, params: Iterable[ir.Param], level: int) -> None:
        """Bind names in the body at ``level``; the sizes of their arrays are not negative."""
        params = tuple(params)
        self.scope.bind(params)
        for param in params:
            self.level[param.name] = level
            for size in names_in(shape_of(param.type)):
                self.lengths[size] = min(level, self.lengths.get(size, level))

    def _enter(self, around: Around) -> _Frame:
        """A frame for a body inside of the bodies that are there."""
        level, last = len(self.frames), self.frames[-1] if self.frames else _Frame(around)
        is_lambda = around is Around.LAMBDA
        frame = _Frame(around, level if around is Around.BRANCH else last.branch,
                       level if is_lambda else last.lambda_, is_lambda or last.in_lambda)
        self.frames.append(frame)
        return frame

    def body(self, body: ir.Body, around: Around) -> ir.Body:
        """A body without the statements that move to outer bodies."""
        self._enter(around)
        for stm in body.stms:
            self.statement(stm)
        return body_of(body, self.frames.pop().out, body.result)

    def lambda_(self, lam: ir.Lambda) -> ir.Lambda:
        """A lambda without what leaves it."""
        self.bind(lam.params, len(self.frames))
        return lambda_of(lam, lam.params, self.body(lam.body, Around.LAMBDA), lam.ret)

    def statement(self, stm: ir.Stm) -> None:
        """Put ``stm`` into the outermost body that its operands and effects allow."""
        if isinstance(stm.exp, ir.Map) and len(self.frames) == 1 and self.unless_empty.get(
                stm.exp.width):
            stm = self._where_nonempty(stm, self.unless_empty[stm.exp.width])
        elif not is_flat(stm.exp):
            stm = stm_of(stm, self.inside(stm.exp))
        target = len(self.frames) - 1
        if target and self.rewriting.permits(hoist_quotient) and (
                divided := hoist_quotient.apply(self, stm)) is not None:
            target, outside, check = divided
            self.rewriting.record(hoist_quotient, (stm,), (*outside, check))
            for each in outside:
                self._put(each, target)
            stm, target = check, len(self.frames) - 1
        elif target and isinstance(stm.exp, LEAVING):
            stm, target = self._left(stm, target)
        self._put(stm, target)

    def _put(self, stm: ir.Stm, target: int) -> None:
        """Put ``stm`` into the body at ``target``."""
        self.frames[target].out.append(stm)
        self.bind(stm.pat, target)
        self.scope.define(stm)
        if self.after_fusion:
            self._note(stm, target)

    def _left(self, stm: ir.Stm, here: int) -> tuple[ir.Stm, int]:
        """The statement, and the body that it may move to."""
        if self.rewriting.permits(hoist_invariant):
            found: int | None = hoist_invariant.apply(self, stm)
            if found is not None:
                self.rewriting.record(hoist_invariant, (stm,), (stm,))
                return stm, found
        if self.after_fusion and isinstance(stm.exp, STORED) and self.rewriting.permits(
                hoist_stored):
            found = hoist_stored.apply(self, stm)
            if found is not None:
                new = self._with_copies(stm, found)
                self.rewriting.record(hoist_stored, (stm,), (new,))
                return new, found
        return stm, here

    def _with_copies(self, stm: ir.Stm, target: int) -> ir.Stm:
        """The statement with its own counters and replicated values, which go to ``target``."""
        copies: dict[VName, Atom] = {}
        for name in sorted(free_vars(stm) & self.made.keys()):
            made = self.made[name]
            copy = replace(made, pat=(ir.Param(self.scope.names.fresh(name), made.pat[0].type),))
            copies[name] = copy.pat[0].name
            self._put(copy, target)
        return substitute_stm(stm, copies)

    def _note(self, stm: ir.Stm, target: int) -> None:
        """Note what a statement makes or, in the body of the function, says of sizes."""
        if isinstance(stm.exp, ir.Iota | ir.Replicate) and target:
            self.made[stm.pat[0].name] = stm
        if not isinstance(stm.exp, ir.Assert) or target:
            return
        match self.scope.exp(stm.exp.cond):
            case ir.PrimOp("or", _, (fine, empty)):
                if (size := self._not_negative(fine)) is None:
                    return
                match self.scope.exp(empty):
                    case ir.PrimOp("eq", Prim.I64, (width, Const(value=0))):
                        self.unless_empty.setdefault(width, set()).add(size)
            case _:
                if (size := self._not_negative(stm.exp.cond)) is not None:
                    self.lengths[size] = 0

    def _not_negative(self, cond: Atom) -> VName | None:
        """The size that is no negative number if ``cond`` is true."""
        match self.scope.exp(cond):
            case ir.PrimOp("le", Prim.I64, (Const(value=0), VName() as size)):
                return size
        return None

    def _where_nonempty(self, stm: ir.Stm, sizes: set[VName]) -> ir.Stm:
        """A map, in a branch with what leaves it only because it has elements, if there is such.

        ``sizes`` are no negative numbers there.
        """
        assert isinstance(stm.exp, ir.Map)
        width = stm.exp.width
        level, frame = len(self.frames), self._enter(Around.NONEMPTY)
        before = dict(self.lengths)
        for size in sizes:
            self.lengths[size] = min(level, self.lengths.get(size, level))
        stm = stm_of(stm, self.inside(stm.exp))
        self.lengths = before
        self.frames.pop()
        if not frame.out:
            return stm
        types = tuple(p.type for p in stm.pat)
        empties = [ir.Stm((ir.Param(self.scope.names.fresh("none"), each),),
                          ir.Replicate(each.shape, zero(each.elem)))
                   for each in types if isinstance(each, ArrayType)]
        inner = replace(stm, pat=tuple(ir.Param(self.scope.names.fresh(p.name), p.type)
                                       for p in stm.pat))
        empty = ir.Stm((ir.Param(self.scope.names.fresh("empty"), Prim.BOOL),),
                       ir.PrimOp("eq", Prim.I64, (width, i64(0))))
        self._put(empty, level - 1)
        return replace(stm, exp=ir.If(
            empty.pat[0].name, ir.Body(tuple(empties), tuple(each.pat[0].name for each in empties)),
            ir.Body((*frame.out, inner), tuple(p.name for p in inner.pat)), types))

    def inside(self, exp: ir.Exp) -> ir.Exp:
        """``exp`` with its bodies hoisted from."""
        level = len(self.frames)
        match exp:
            case ir.Loop(params, form, body):
                self.bind((p.param for p in params), level)
                if isinstance(form, ir.ForLoop):
                    self.bind((ir.Param(form.index, Prim.I64),), level)
                    self.scope.bounds[form.index] = form.bound
                new = self.body(body, Around.LOOP)
                return exp if new is body else ir.Loop(params, form, new)
            case ir.Recursion(params=params, body=body):
                self.bind((p.param for p in params), level)
                new = self.body(body, Around.LOOP)
                return exp if new is body else replace(exp, body=new)
            case ir.Map() | ir.Redomap() | ir.Scanomap():
                for param, array in zip(exp.lam.params, exp.arrays, strict=True):
                    source = self.scope.exp(array)
                    if isinstance(source, ir.Iota) and is_counting(source):
                        self.scope.bounds[param.name] = source.count
        return map_exp(self.deep, exp)

    # Conditions

    def may_leave(self, stm: ir.Stm, target: int) -> bool:
        """True if ``stm`` may stand in the body at ``target``."""
        if target < self.least_target(stm):
            return False
        if any(shape_of(p.type) and self.scope.consumes(p.name) for p in stm.pat):
            return False
        if (self.frames[-1].lambda_ > target and not self.frames[target].in_lambda
                and self._reads_device(stm)):
            return False
        return self.cannot_fail(stm, target)

    def _is_size(self, stm: ir.Stm) -> bool:
        return isinstance(stm.exp, ir.PrimOp | ir.Convert) and stm.pat[0].name in self.sizes

    def least_target(self, stm: ir.Stm) -> int:
        """The level of the outermost body that ``stm`` may go to: only sizes leave branches."""
        return 0 if self._is_size(stm) else self.frames[-1].branch

    def _reads_device(self, stm: ir.Stm) -> bool:
        """True if the host would need a scalar from the device, other than a size, for this."""
        if not isinstance(stm.exp, ir.PrimOp | ir.Convert) or self._is_size(stm):
            return False
        return any((made := self.scope.defs.get(name)) is not None
                   and not isinstance(made.exp, ir.PrimOp | ir.Convert | ir.AtomExp)
                   for name in uses(stm.exp))

    def cannot_fail(self, stm: ir.Stm, target: int) -> bool:
        """True if ``stm`` succeeds wherever its operands are known and the sizes at ``target``."""
        match stm.exp:
            case ir.PrimOp(op, prim, args):
                return not (OPS[op].traps and prim.is_int) or (
                    isinstance(args[-1], Const) and args[-1].value != 0) or (
                    op in DIVISIONS and self._is_positive(args[-1]))
            case ir.Convert() | ir.AtomExp() | ir.ArrayLit() | ir.Concat():
                return True
            case ir.Index(array, dims):
                return self.scope.selects_inside(array, dims)
            case ir.Rearrange(perm, array):
                shape = shape_of(self.scope.type(array))
                return shape_of(stm.pat[0].type) == tuple(shape[k] for k in perm)
            case ir.Reshape(shape, array):
                return self._count(shape) == self._count(shape_of(self.scope.type(array)))
            case ir.Slide(dim) | ir.Pad(dim):
                return self._is_sum(shape_of(stm.pat[0].type)[dim], target)
            case ir.Iota(count) | ir.Replicate((count,), _):
                return self.is_length(count, target)
            case ir.If(then_=then_, else_=else_):
                return self._all(then_, target) and self._all(else_, target)
            case ir.Loop(_, ir.ForLoop(), body):
                return self._all(body, target)
            case ir.Map(width, lam, arrays):
                return self._map_succeeds(width, arrays, (lam,), target)
            case ir.Redomap(width, ops, lam, arrays) | ir.Scanomap(width, ops, lam, arrays):
                return self._map_succeeds(width, arrays, (lam, *(op.lam for op in ops)), target)
        return False

    def _is_positive(self, divisor: Atom) -> bool:
        """True if a divisor is at least a positive constant."""
        match None if isinstance(divisor, Const) else self.scope.exp(divisor):
            case ir.PrimOp("max", args=args):
                return any(isinstance(arg, Const) and arg.value > 0 for arg in args)
        return False

    def _map_succeeds(self, width: Atom, arrays: tuple[VName, ...], lams: tuple[ir.Lambda, ...],
                      target: int) -> bool:
        outer = [shape_of(self.scope.type(array))[0] for array in arrays]
        return (all(size == width for size in outer)
                and (bool(outer) or self.is_length(width, target))
                and all(self._all(lam.body, target) for lam in lams))

    def _all(self, body: ir.Body, target: int) -> bool:
        return all(self.cannot_fail(stm, target) for stm in body.stms)

    def is_length(self, size: Atom, target: int) -> bool:
        """True if ``size`` is the size of an array that exists at ``target``: not negative."""
        if isinstance(size, Const):
            return size.value >= 0
        return self.lengths.get(size, len(self.frames)) <= target

    def _is_sum(self, size: Atom, target: int) -> bool:
        """True if ``size`` is a sum of sizes of arrays that exist at ``target``."""
        match self.scope.exp(size):
            case ir.PrimOp("add", Prim.I64, args):
                return all(self._is_sum(each, target) for each in args)
        return self.is_length(size, target)

    def _count(self, shape: tuple[Atom, ...]) -> Size:
        return product([self._size(size) for size in shape])

    def _size(self, atom: Atom) -> Size:
        """A size as a polynomial of sizes that are not products themselves."""
        if isinstance(atom, Const):
            return Size.of(int(atom.value))
        match self.scope.exp(atom):
            case ir.PrimOp("mul", Prim.I64, (x, y)):
                return self._size(x) * self._size(y)
        return Size.var(atom)


def size_names(fun: ir.Fun) -> frozenset[VName]:
    """The names that are sizes of arrays, and the names that such sizes are computed from."""
    found: set[VName] = set()
    made: dict[VName, ir.Exp] = {}

    def look(body: ir.Body) -> None:
        for stm in body.stms:
            found.update(sizes_of([p.type for p in stm.pat]))
            made.update((p.name, stm.exp) for p in stm.pat)
            if isinstance(stm.exp, ir.Loop | ir.Recursion):
                found.update(sizes_of([p.param.type for p in stm.exp.params]))
            for inner in bodies_of(stm.exp):
                look(inner)
            for lam in lambdas_of(stm.exp):
                found.update(sizes_of([*lam.ret, *(p.type for p in lam.params)]))
                look(lam.body)

    look(fun.body)
    todo = list(found)
    while todo:
        exp = made.get(todo.pop())
        if isinstance(exp, ir.PrimOp | ir.Convert):
            more = set(uses(exp)) - found
            found |= more
            todo += more
    return frozenset(found)
