"""Unused code.  These rules run on the backward walk, where ``scope.live`` is known."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.traverse import bodies_inside, free_vars
from runelift.ir.types import Type, shape_of
from runelift.rewrite.engine.pick import names_in, pick, pick_body, pick_lambda
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope

FRESH = (ir.ArrayLit, ir.Update, ir.Iota, ir.Replicate, ir.Concat, ir.Copy, ir.Map, ir.Redomap,
         ir.Scanomap, ir.Scatter, ir.Hist)
"""Expressions whose arrays share memory with nothing that lives on."""


def may_fail_on_purpose(exp: ir.Exp) -> bool:
    """True if an assertion stands in ``exp``, or may stand in what it calls."""
    if isinstance(exp, ir.Assert | ir.Call):
        return True
    return any(may_fail_on_purpose(stm.exp) for body in bodies_inside(exp) for stm in body.stms)


def sizes_of(types: Sequence[Type]) -> set[VName]:
    """The names of sizes in types."""
    return {size for type_ in types for size in names_in(shape_of(type_))}


def used_results(pat: Sequence[ir.Param], live: set[VName]) -> list[bool]:
    """A flag for each name of a pattern: used later, if only as a size of another that is."""
    used: list[bool] = []
    sizes: set[VName] = set()
    for param in reversed(pat):
        used.append(param.name in live or param.name in sizes)
        if used[-1]:
            sizes |= sizes_of((param.type,))
    return used[::-1]


@rule(*get_args(ir.Exp))
def unused_statement(scope: Scope, stm: ir.Stm) -> Replacement:
    """let x = e₁ in e₂ ⇒ e₂

    Provided: x does not occur in e₂ and e₁ asserts nothing.
    Because: a bounds check or a division guards the value that it makes, and nothing else.
    """
    if any(p.name in scope.live for p in stm.pat) or may_fail_on_purpose(stm.exp):
        return None
    return ()


@rule(ir.If)
def unused_branch_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(x, _) = if c then {in (a, b)} else {in (c, d)} ⇒ x = if c then {in a} else {in c}"""
    match stm.exp:
        case ir.If(cond, then_, else_, ret):
            used = used_results(stm.pat, scope.live)
            if all(used):
                return None
            exp = ir.If(cond, pick_body(then_, used), pick_body(else_, used), pick(ret, used))
            return (ir.Stm(pick(stm.pat, used), exp, stm.attrs, stm.loc),)
    return None


@rule(ir.Versions)
def unused_version_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(x, _) = versions (g ⇒ {in (a, b)})... ⇒ x = versions (g ⇒ {in a})..."""
    match stm.exp:
        case ir.Versions(site, alternatives, ret):
            used = used_results(stm.pat, scope.live)
            if all(used):
                return None
            exp = ir.Versions(site, tuple(replace(v, body=pick_body(v.body, used))
                                       for v in alternatives), pick(ret, used))
            return (ir.Stm(pick(stm.pat, used), exp, stm.attrs, stm.loc),)
    return None


@rule(ir.Loop)
def unused_loop_parameter(scope: Scope, stm: ir.Stm) -> Replacement:
    """(x, _) = loop (p, q) = (a, b) ... do {in (e, f)} ⇒ x = loop p = a ... do {in e}

    Provided: q is not needed for e, for the condition, or for an assertion in the body.
    """
    match stm.exp:
        case ir.Loop(params, form, body):
            wanted = used_results(stm.pat, scope.live)
            if all(wanted):
                return None
            names = _needed_by_loop(stm.exp, wanted)
            needed = [p.param.name in names for p in params]
            if all(needed):
                return None
            stms = tuple(s for s in body.stms if may_fail_on_purpose(s.exp)
                         or any(p.name in names for p in s.pat))
            exp = ir.Loop(pick(params, needed), form, ir.Body(stms, pick(body.result, needed)))
            return (ir.Stm(pick(stm.pat, needed), exp, stm.attrs, stm.loc),)
    return None


def _needed_by_loop(loop: ir.Loop, wanted: list[bool]) -> set[VName]:
    """The wanted parameters, and all that their next values need, directly or indirectly."""
    carried = {p.param.name: (p.param, result)
               for p, result in zip(loop.params, loop.body.result, strict=True)}
    maker = {p.name: stm for stm in loop.body.stms for p in stm.pat}
    todo = [name for name, w in zip(carried, wanted, strict=True) if w]
    if isinstance(loop.form, ir.WhileLoop):
        todo.append(loop.form.cond)
    for stm in loop.body.stms:
        if may_fail_on_purpose(stm.exp):
            todo += free_vars(stm)
    needed: set[VName] = set()
    while todo:
        name = todo.pop()
        if name in needed:
            continue
        needed.add(name)
        if name in carried:
            param, result = carried[name]
            todo += names_in((result,)) | sizes_of((param.type,))
        elif name in maker:
            todo += free_vars(maker[name])
    return needed


@rule(ir.Map)
def unused_map_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(ys, _) = map (λx → (a, b)) xs ⇒ ys = map (λx → a) xs"""
    match stm.exp:
        case ir.Map(width, lam, arrays):
            used = used_results(stm.pat, scope.live)
            if not all(used):
                return (ir.Stm(pick(stm.pat, used), ir.Map(width, pick_lambda(lam, used), arrays),
                            stm.attrs, stm.loc),)
    return None


@rule(ir.Redomap, ir.Scanomap)
def unused_redomap_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(x, _) = redomap (⊕, ⊗) (λx → (a, b)) xs ⇒ x = redomap ⊕ (λx → a) xs

    Provided: an operator is dropped only as a whole, and when it asserts nothing.
    """
    match stm.exp:
        case ir.Redomap(ops=ops, lam=lam) | ir.Scanomap(ops=ops, lam=lam):
            used = used_results(stm.pat, scope.live)
            kept, start = _used_operators(ops, used)
            keep = [k for op, kept_op in zip(ops, kept, strict=True)
                    for k in [kept_op] * len(op.neutral)] + used[start:]
            if all(keep):
                return None
            exp = replace(stm.exp, ops=pick(ops, kept), lam=pick_lambda(lam, keep))
            return (ir.Stm(pick(stm.pat, keep), exp, stm.attrs, stm.loc),)
    return None


def _used_operators(ops: Sequence[ir.Operator], used: list[bool]) -> tuple[list[bool], int]:
    """A flag for each operator that must stay, and the number of results they have together."""
    kept: list[bool] = []
    start = 0
    for op in ops:
        end = start + len(op.neutral)
        kept.append(any(used[start:end])
                    or any(may_fail_on_purpose(s.exp) for s in op.lam.body.stms))
        start = end
    return kept, start


@rule(ir.Scatter)
def unused_scatter_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(ys, _) = scatter (d, e) f xs ⇒ ys = scatter d f' xs"""
    match stm.exp:
        case ir.Scatter(width, lam, arrays, dests):
            used = used_results(stm.pat, scope.live)
            if all(used) or not any(used):
                return None
            keep = [k for d, u in zip(dests, used, strict=True) for k in [u] * (d.rank + 1)]
            exp = ir.Scatter(width, pick_lambda(lam, keep), arrays, pick(dests, used))
            return (ir.Stm(pick(stm.pat, used), exp, stm.attrs, stm.loc),)
    return None


@rule(ir.Hist)
def unused_hist_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(ys, _) = hist (d ⊕, e ⊗) f xs ⇒ ys = hist (d ⊕) f' xs

    Provided: an operator is dropped only as a whole, and when it asserts nothing.
    """
    match stm.exp:
        case ir.Hist(width, ops, lam, arrays):
            used = used_results(stm.pat, scope.live)
            kept, _ = _used_operators([op.op for op in ops], used)
            if all(kept) or not any(kept):
                return None
            values = [k for op, u in zip(ops, kept, strict=True) for k in [u] * len(op.dests)]
            exp = ir.Hist(width, pick(ops, kept), pick_lambda(lam, [*kept, *values]), arrays)
            return (ir.Stm(pick(stm.pat, values), exp, stm.attrs, stm.loc),)
    return None


@rule(ir.SegMap, ir.SegRed, ir.SegScan)
def unused_segmented_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(ys, _) = segmap Σ {in (a, b)} ⇒ ys = segmap Σ {in a}

    Provided: what is dropped is no operand of an operator, and the operation no scan with a
    post-map.
    """
    match stm.exp:
        case (ir.SegMap(body=body, ret=ret) | ir.SegRed(body=body, ret=ret)
              | ir.SegScan(body=body, ret=ret, post=None)):
            ops = () if isinstance(stm.exp, ir.SegMap) else stm.exp.ops
            count = sum(len(op.neutral) for op in ops)
            used = [k < count or u for k, u in enumerate(used_results(stm.pat, scope.live))]
            if not all(used):
                exp = replace(stm.exp, body=pick_body(body, used), ret=pick(ret, used))
                return (ir.Stm(pick(stm.pat, used), exp, stm.attrs, stm.loc),)
    return None


@rule(ir.Copy)
def copy_of_dying(scope: Scope, stm: ir.Stm) -> Replacement:
    """let ys = copy xs in e ⇒ e[ys ↦ xs]

    Provided: xs does not occur in e, and is a separate array, made in the same body.
    """
    match stm.exp:
        case ir.Copy(array) if array not in scope.live and _own(scope, array):
            return ir.AtomExp(array)
    return None


def _own(scope: Scope, array: VName) -> bool:
    made = scope.defs.get(array)
    return made is not None and isinstance(made.exp, FRESH)


@rule(*ir.SOACS)
def unused_input(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx y → e) xs ys ⇒ map (λx → e) xs

    Provided: y does not occur in e.
    """
    soac = ir.soac_of(stm)
    used = [p.name in scope.live for p in soac.lam.params]
    if all(used):
        return None
    lam = replace(soac.lam, params=pick(soac.lam.params, used))
    return replace(soac, lam=lam, arrays=pick(soac.arrays, used))


UNUSED = RuleBook([
    unused_statement, unused_branch_result, unused_version_result, unused_loop_parameter,
    unused_map_result, unused_redomap_result, unused_scatter_result, unused_hist_result,
    unused_segmented_result, copy_of_dying,
])
"""Rules that look at the names used after a statement."""

UNUSED_INPUTS = RuleBook([unused_input])
"""Rules that look at the names used inside of a statement."""
