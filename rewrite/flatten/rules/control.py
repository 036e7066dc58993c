"""Loops and branches: rules G7 and G8."""

from __future__ import annotations

from runelift.ir.syntax import (
    ForLoop,
    If,
    Level,
    Loop,
    LoopParam,
    Param,
    Stm,
    array_of,
    shape_of,
)
from runelift.rewrite.flatten.book import flattening
from runelift.rewrite.flatten.flattener import describe
from runelift.rewrite.flatten.nest import Nest
from runelift.rewrite.flatten.parallelism import (
    has_parallelism,
)
from runelift.rewrite.flatten.rules.common import emit_with_nest, node_of, show_nest
from runelift.rewrite.flatten.walk import Walk


@flattening("G7", Loop)
def loop_interchange(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ loop (x = e) for i < n do f ⇒ loop (x' = e') for i < n do (Σ, x := x'[...] ⊢ f)

    Provided n is the same at all points of Σ, f has parallelism and the shape of x does not
    change.  With an empty Σ the loop stays, and its body is flattened.
    """
    loop = node_of(stm, Loop)
    parallel = has_parallelism(loop.body)
    flattener = walk.flattener
    if not walk.nest.space:
        if not parallel:
            return ""
        with flattener.derivation.inside():
            body, _ = flattener.body(Nest(), loop.body)
        walk.emit(Stm(stm.pat, Loop(loop.params, loop.form, body), stm.attrs, stm.loc))
        return None
    if not parallel:
        return ""
    if not isinstance(loop.form, ForLoop):
        return "a while loop may run a different number of times at each point"
    if not walk.invariant(loop.form.bound):
        return "it runs a different number of times at each point"
    own = {p.param.name for p in loop.params}
    for p in loop.params:
        if not walk.regular(p.param.type) or any(s in own for s in shape_of(p.param.type)):
            return f"'{p.param.name.base}' has another shape at each point or iteration"
    if why := walk.prepare(stm):
        return why
    params = tuple(Param(flattener.names.fresh(p.param.name),
                         array_of(walk.nest.widths, p.param.type)) for p in loop.params)
    inits = [walk.expand(p.init, p.param.type) for p in loop.params]
    flattener.derivation.fired(
        "G7", describe(stm), f"the loop goes outside of {show_nest(walk.nest)}", stm.loc)
    flattener.learn_params(params)
    inner = walk.nest.define(walk.nest.point(p.param, host.name)
                             for p, host in zip(loop.params, params, strict=True))
    with flattener.derivation.inside():
        body, _ = flattener.body(inner, loop.body)
    carried = tuple(LoopParam(p, init) for p, init in zip(params, inits, strict=True))
    emit_with_nest(walk, stm, walk.nest, Loop(carried, loop.form, body))
    return None


@flattening("G8", If)
def branch_interchange(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ if c then e else f ⇒ if c then (Σ ⊢ e) else (Σ ⊢ f)      c invariant to Σ"""
    branch = node_of(stm, If)
    parallel = has_parallelism(branch.then_) or has_parallelism(branch.else_)
    if not parallel and (walk.nest.space or walk.level is Level.LOCAL):
        return ""
    flattener = walk.flattener
    if not walk.invariant(branch.cond):
        return "its condition differs between points of the nest"
    own = {p.name for p in stm.pat}
    if walk.nest.space and any(
        not walk.regular(p.type) or any(s in own for s in shape_of(p.type)) for p in stm.pat
    ):
        return "its result has another shape at each point of the nest"
    if why := walk.prepare(stm):
        return why
    if walk.nest.space:
        flattener.derivation.fired("G8", describe(stm),
                                   f"the branch goes outside of {show_nest(walk.nest)}", stm.loc)
    with flattener.derivation.inside():
        then_, _ = flattener.body(walk.nest, branch.then_)
        else_, _ = flattener.body(walk.nest, branch.else_)
    ret = tuple(array_of(walk.nest.widths, t) for t in branch.ret)
    emit_with_nest(walk, stm, walk.nest, If(branch.cond, then_, else_, ret))
    return None
