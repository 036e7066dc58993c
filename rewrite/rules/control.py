"""Branches, loops and assertions."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import free_vars, rename_lambda, substitute_body
from runelift.ir.types import FALSE, TRUE, Atom, Const, i64, shape_of
from runelift.rewrite.engine.pick import bound_by_lambda, bound_in, let, pick, pick_body, repeated
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scalar_code import is_scalar, may_fail
from runelift.rewrite.engine.scope import Scope


@rule(ir.If)
def branch_known(scope: Scope, stm: ir.Stm) -> Replacement:
    """if true then e₁ else e₂ ⇒ e₁,  if false then e₁ else e₂ ⇒ e₂"""
    match stm.exp:
        case ir.If(Const(cond), then_, else_):
            taken = then_ if cond else else_
            return (*taken.stms, *let(stm.pat, taken.result))
    return None


@rule(ir.If)
def branch_negated(scope: Scope, stm: ir.Stm) -> Replacement:
    """if not c then e₁ else e₂ ⇒ if c then e₂ else e₁"""
    match stm.exp:
        case ir.If(cond, then_, else_, ret):
            match scope.exp(cond):
                case ir.PrimOp("not", Prim.BOOL, (positive,)):
                    return ir.If(positive, else_, then_, ret)
    return None


@rule(ir.If)
def branch_invariant(scope: Scope, stm: ir.Stm) -> Replacement:
    """(x, y) = if c then {in (a, e₁)} else {in (a, e₂)} ⇒ x = a, y = if c then e₁ else e₂

    Provided: a is known outside of the branches.
    """
    match stm.exp:
        case ir.If(cond, then_, else_, ret):
            inside = bound_in(then_) | bound_in(else_)
            same = [a == b and a not in inside
                    for a, b in zip(then_.result, else_.result, strict=True)]
            if not any(same):
                return None
            differ = [not s for s in same]
            rest = ir.If(cond, pick_body(then_, differ), pick_body(else_, differ),
                      pick(ret, differ))
            return (*let(pick(stm.pat, same), pick(then_.result, same)),
                    ir.Stm(pick(stm.pat, differ), rest, stm.attrs, stm.loc))
    return None


@rule(ir.If)
def branch_on_bools(scope: Scope, stm: ir.Stm) -> Replacement:
    """if c then true else y ⇒ c || y,  if c then x else false ⇒ c && x, ...

    Provided: a branch is true or false.  The other one computes little, and cannot fail.
    Because: few comparisons cost less than a branch, and vectors of processors can hold them.
    """
    match stm.exp:
        case ir.If(cond, then_, else_, (Prim.BOOL,)) if then_.stms or else_.stms:
            if (all(map(_is_little, (*then_.stms, *else_.stms)))
                    and len(then_.stms) + len(else_.stms) <= MOST_IN_ADVANCE
                    and {TRUE, FALSE} & {*then_.result, *else_.result}):
                chosen = ir.If(cond, ir.Body((), then_.result), ir.Body((), else_.result),
                               (Prim.BOOL,))
                return (*then_.stms, *else_.stms, ir.Stm(stm.pat, chosen, stm.attrs, stm.loc))
        case ir.If(cond, ir.Body((), (x,)), ir.Body((), (y,)), (Prim.BOOL,)):
            if (x, y) == (TRUE, FALSE):
                return ir.AtomExp(cond)
            if (x, y) == (FALSE, TRUE):
                return ir.PrimOp("not", Prim.BOOL, (cond,))
            if x == TRUE:
                return ir.PrimOp("or", Prim.BOOL, (cond, y))
            if y == FALSE:
                return ir.PrimOp("and", Prim.BOOL, (cond, x))
            if TRUE in (x, y) or FALSE in (x, y):
                negated = scope.fresh("not", Prim.BOOL)
                op, other = ("or", x) if y == TRUE else ("and", y)
                return (ir.Stm((negated,), ir.PrimOp("not", Prim.BOOL, (cond,)), loc=stm.loc),
                        ir.Stm(stm.pat, ir.PrimOp(op, Prim.BOOL, (negated.name, other)), stm.attrs,
                            stm.loc))
    return None


MOST_IN_ADVANCE = 4
"""The most operations that are made before a condition, which they may turn out to be part of."""


def _is_little(stm: ir.Stm) -> bool:
    """True if a statement is an operation on scalars that costs little and cannot fail."""
    match stm.exp:
        case ir.PrimOp(op, prim) if not stm.exp.may_trap:
            return OPS[op].predicate or (prim is Prim.BOOL and op in ("and", "or", "not"))
        case ir.AtomExp():
            return True
    return False


@rule(ir.If)
def branch_joined(scope: Scope, stm: ir.Stm) -> Replacement:
    """if c then x else (if d then x else y) ⇒ if c || d then x else y,
    if c then (if d then x else y) else y ⇒ if c && d then x else y, ...

    Provided: nothing but d is computed; that is little, and cannot fail.
    """
    match stm.exp:
        case ir.If(cond, ir.Body((), outer), ir.Body((*before, ir.Stm(pat, ir.If(
                inner, ir.Body((), yes), ir.Body((), no)), ())), last)):
            op, first = "or", True
        case ir.If(cond, ir.Body((*before, ir.Stm(pat, ir.If(
                inner, ir.Body((), yes), ir.Body((), no)), ())), last), ir.Body((), outer)):
            op, first = "and", False
        case _:
            return None
    if (last != tuple(p.name for p in pat) or outer not in (yes, no)
            or len(before) > MOST_IN_ADVANCE or not all(map(_is_little, before))
            or {p.name for each in before for p in each.pat} & {*yes, *no}):
        return None
    stms = list(before)
    if (outer == yes) is not first:
        stms.append(ir.Stm((scope.fresh("not", Prim.BOOL),), ir.PrimOp("not", Prim.BOOL, (inner,))))
        inner = stms[-1].pat[0].name
    joined = scope.fresh("joined", Prim.BOOL)
    stms.append(ir.Stm((joined,), ir.PrimOp(op, Prim.BOOL, (cond, inner))))
    other = ir.Body((), no if outer == yes else yes)
    sides = (ir.Body((), outer), other) if first else (other, ir.Body((), outer))
    return (*stms, replace(stm, exp=ir.If(joined.name, *sides, stm.exp.ret)))


@rule(ir.If)
def branch_same_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(x, y) = if c then {in (a, a)} else {in (b, b)} ⇒ x = if c then a else b, y = x"""
    match stm.exp:
        case ir.If(cond, then_, else_, ret):
            found = repeated(list(zip(then_.result, else_.result, strict=True)))
            if found is None or found.names_sizes(stm.pat):
                return None
            rest = ir.If(cond, pick_body(then_, found.keep), pick_body(else_, found.keep),
                      pick(ret, found.keep))
            return found.statements(stm, rest)
    return None


@rule(ir.If)
def branch_common(scope: Scope, stm: ir.Stm) -> Replacement:
    """if c then {x = e; e₁} else {y = e; e₂} ⇒ x = e; if c then {e₁} else {e₂[y ↦ x]}

    Provided: e is an element or an operation on scalars, of names that are known outside, and both
    are known not to fail, or none.  If it may fail, nothing before it may.
    Because: work-items that run together go through both branches.
    """
    match stm.exp:
        case ir.If(cond, then_, else_, ret):
            inside, others = bound_in(then_) | bound_in(else_), list(_first_scalars(else_))
            for one in _first_scalars(then_):
                if not inside.isdisjoint(free_vars(one.exp)):
                    continue
                for other in others:
                    if (other.exp, other.attrs) == (one.exp, one.attrs):
                        loc = stm.loc if may_fail(one.exp) else one.loc
                        rest = substitute_body(_without(else_, other),
                                               {other.pat[0].name: one.pat[0].name})
                        return (replace(one, loc=loc),
                                replace(stm, exp=ir.If(cond, _without(then_, one), rest, ret)))
    return None


def _first_scalars(body: ir.Body) -> Iterator[ir.Stm]:
    """The operations that make one scalar each.

    An operation that may fail is left out if an earlier statement may fail.
    """
    fails = False
    for stm in body.stms:
        if is_scalar(stm) and isinstance(stm.exp, ir.Index | ir.PrimOp | ir.Convert) and not (
                fails and may_fail(stm.exp)):
            yield stm
        fails |= may_fail(stm.exp)


def _without(body: ir.Body, stm: ir.Stm) -> ir.Body:
    """A body without the statement ``stm``."""
    return ir.Body(tuple(each for each in body.stms if each is not stm), body.result)


@rule(ir.If)
def branch_extreme(scope: Scope, stm: ir.Stm) -> Replacement:
    """if x < y then x else y ⇒ min x y,  if x < y then y else x ⇒ max x y,
    if x < n then x else n - 1 ⇒ min x (n - 1)

    Provided: their type is i64, and n is a size.
    """
    match stm.exp:
        case ir.If(cond, ir.Body((), (yes,)), ir.Body((), (no,)), (Prim() as prim,)):
            match scope.exp(cond):
                case ir.PrimOp("lt" | "le" as op, compared, (x, y)) if compared is prim is Prim.I64:
                    if (yes, no) == (y, x):
                        return ir.PrimOp("max", prim, (x, y))
                    if yes == x and (no == y or (op == "lt" and _is_before(scope, no, y))):
                        return ir.PrimOp("min", prim, (x, no))
    return None


def _is_before(scope: Scope, atom: Atom, size: Atom) -> bool:
    """True if ``atom`` is one less than a size."""
    return size in scope.sizes and scope.exp(atom) in (
        ir.PrimOp("sub", Prim.I64, (size, i64(1))), ir.PrimOp("add", Prim.I64, (size, i64(-1))))


@rule(ir.Loop)
def loop_never(scope: Scope, stm: ir.Stm) -> Replacement:
    """loop p = a for i < c do e ⇒ a,  loop p = a while false do e ⇒ a

    Provided: c <= 0, or the condition is false at the start.
    """
    match stm.exp:
        case ir.Loop(params, ir.ForLoop(_, Const(bound))) if bound <= 0:
            return let(stm.pat, [p.init for p in params])
        case ir.Loop(params, ir.WhileLoop(cond)):
            if any(p.param.name == cond and p.init == FALSE for p in params):
                return let(stm.pat, [p.init for p in params])
    return None


@rule(ir.Loop)
def loop_once(scope: Scope, stm: ir.Stm) -> Replacement:
    """loop p = a for i < 1 do e ⇒ e[p ↦ a, i ↦ 0]"""
    match stm.exp:
        case ir.Loop(params, ir.ForLoop(index, Const(1)), body):
            return (*let([p.param for p in params], [p.init for p in params]),
                    ir.Stm((ir.Param(index, Prim.I64),), ir.AtomExp(i64(0))),
                    *body.stms, *let(stm.pat, body.result))
    return None


MOST_UNROLLED = 64
"""Loops of more iterations are not written out, also when the program asks for it."""


@rule(ir.Loop)
def loop_unrolled(scope: Scope, stm: ir.Stm) -> Replacement:
    """#[unroll] loop p = a for i < c do e ⇒ p₀ = a, i₀ = 0, p₁ = e₀, ..., pₙ = eₙ₋₁

    Provided: c is a constant of at most :data:`MOST_UNROLLED`, and the shapes stay.
    """
    match stm.exp:
        case ir.Loop(params, ir.ForLoop(index, Const(bound)), body) if (
            "unroll" in stm.attrs and 1 < bound <= MOST_UNROLLED
            and not {p.param.name for p in params} & {
                size for p in params for size in shape_of(p.param.type)}
        ):
            step = ir.Lambda((*(p.param for p in params), ir.Param(index, Prim.I64)), body, ())
            values: tuple[Atom, ...] = tuple(p.init for p in params)
            stms: list[ir.Stm] = []
            for k in range(int(bound)):
                fresh = rename_lambda(step, scope.names)
                stms += [*let(fresh.params, (*values, i64(k))), *fresh.body.stms]
                values = fresh.body.result
            return (*stms, *let(stm.pat, values))
    return None


@rule(ir.Loop)
def loop_invariant(scope: Scope, stm: ir.Stm) -> Replacement:
    """loop (p, q) = (a, b) ... do {in (p, e)} ⇒ p = a, loop q = b ... do {in e}

    Provided: p's next value is p itself, or is a.
    """
    match stm.exp:
        case ir.Loop(params, form, body):
            fixed = [result in (p.param.name, p.init) and not _is_condition(form, p.param)
                     for p, result in zip(params, body.result, strict=True)]
            if not any(fixed):
                return None
            vary = [not f for f in fixed]
            inits = [p.init for p in pick(params, fixed)]
            rest = ir.Loop(pick(params, vary), form, pick_body(body, vary))
            return (*let([p.param for p in pick(params, fixed)], inits),
                    *let(pick(stm.pat, fixed), inits),
                    ir.Stm(pick(stm.pat, vary), rest, stm.attrs, stm.loc))
    return None


@rule(ir.Loop)
def loop_duplicate(scope: Scope, stm: ir.Stm) -> Replacement:
    """loop (p, q) = (a, a) ... do {in (e, e)} ⇒ loop p = a ... do {q = p in e}"""
    match stm.exp:
        case ir.Loop(params, form, body):
            found = repeated([
                k if _is_condition(form, p.param) else (p.init, result)
                for k, (p, result) in enumerate(zip(params, body.result, strict=True))])
            if found is None or found.names_sizes(stm.pat):
                return None
            carried = [p.param for p in params]
            if found.names_sizes(carried):
                return None
            rest = ir.Loop(pick(params, found.keep), form,
                        ir.Body((*found.copies(carried), *body.stms),
                                pick(body.result, found.keep)))
            return found.statements(stm, rest)
    return None


def _is_condition(form: ir.ForLoop | ir.WhileLoop, param: ir.Param) -> bool:
    return isinstance(form, ir.WhileLoop) and form.cond == param.name


@rule(ir.Assert)
def assert_true(scope: Scope, stm: ir.Stm) -> Replacement:
    """assert true ⇒ nothing"""
    match stm.exp:
        case ir.Assert(cond) if cond == TRUE:
            return ()
    return None


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def assert_invariant(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → assert c; e) xs ⇒ assert (c ∨ n = 0); map (λx → e) xs

    Provided: c is computed from sizes and parameters outside of the lambda, and nothing before the
    assertion may fail.
    Because: kernels with assertions end later, and some contain nothing else.
    """
    soac = stm.exp
    assert isinstance(soac, ir.Map | ir.Redomap | ir.Scanomap)
    bound, body = bound_by_lambda(soac.lam), soac.lam.body
    for place, inner in enumerate(body.stms):
        if not isinstance(inner.exp, ir.Assert):
            if may_fail(inner.exp):
                return None
            continue
        if not bound.isdisjoint((inner.exp.cond, *inner.exp.args)) or not _is_known_early(
                scope, inner.exp.cond):
            return None
        empty, fine = (scope.fresh(base, Prim.BOOL) for base in ("empty", "fine"))
        rest = ir.Body((*body.stms[:place], *body.stms[place + 1:]), body.result)
        return (ir.Stm((empty,), ir.PrimOp("eq", Prim.I64, (soac.width, i64(0)))),
                ir.Stm((fine,), ir.PrimOp("or", Prim.BOOL, (inner.exp.cond, empty.name))),
                replace(inner, exp=replace(inner.exp, cond=fine.name)),
                replace(stm, exp=replace(soac, lam=replace(soac.lam, body=rest))))
    return None


def _is_known_early(scope: Scope, atom: Atom) -> bool:
    """True if a scalar is computed from parameters and constants alone."""
    if isinstance(atom, Const):
        return True
    definition = scope.defs.get(atom)
    if definition is None:
        return True
    match definition.exp:
        case ir.PrimOp(args=args):
            return all(_is_known_early(scope, arg) for arg in args)
        case ir.Convert(arg=arg) | ir.AtomExp(arg):
            return _is_known_early(scope, arg)
    return False


CONTROL = RuleBook([
    branch_known, branch_negated, branch_invariant, branch_on_bools, branch_joined,
    branch_same_result, branch_common, branch_extreme, loop_never, loop_once, loop_unrolled,
    loop_invariant, loop_duplicate,
    assert_true, assert_invariant,
])
