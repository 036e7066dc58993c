"""Loops and branches: rules G7 and G8."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.guards import Kind
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.traverse import (
    bodies_of,
    free_vars,
    names_from_outside,
    needed_for,
    rename_body,
    statements_inside,
    substitute_body,
)
from runelift.ir.types import TRUE, Atom, Const, Type, array_of, as_name, i64, shape_of
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.engine.scalar_code import body_may_fail, is_scalar, may_fail
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.derivation import Derivation
from runelift.rewrite.flatten.nest import Nest, show_nest
from runelift.rewrite.flatten.parallelism import has_parallelism, segop_spaces
from runelift.rewrite.flatten.rules.common import (
    attempted,
    emit_with_nest,
    reshaped,
    segmented,
    width_of,
)
from runelift.rewrite.flatten.segments import bind_parts, flat_array
from runelift.rewrite.flatten.walk import Walk
from runelift.rewrite.passes.dead import BackwardWalk


@flattening("G7", ir.Loop)
def loop_interchange(walk: Walk, stm: ir.Stm, loop: ir.Loop) -> str | None:
    """Σ ⊢ loop (x = e, s = a) for i < n do f ⇒
           loop (x' = e', s = a) for i < n do (Σ, x := x'[...] ⊢ f)

    Provided n is the same at all points of Σ, f has parallelism and the shape of x does not change.
    It may differ between points: then x := x'[off_i :+ l_i], which has the elements of all points.
    If n may fail, such as a quotient, the host computes it if Σ has points.
    Values s that are the same at all points have no Σ: scalars, and in a for loop that cannot fail
    arrays.  The condition of a while loop must be such a scalar.  With an empty Σ the loop stays,
    and its body is flattened.  If all operations of the body have few points, a version runs the
    whole loop in one work-group.
    """
    parallel = has_parallelism(loop.body)
    flattener = walk.flattener
    if not walk.nest.space:
        if not parallel:
            return Unlike("the body of the loop has no parallelism")
        one_group = _one_group(walk, stm)
        with flattener.derivation.inside():
            body, _ = flattener.body(Nest(), loop.body)
        flat = ir.Stm(stm.pat, ir.Loop(loop.params, loop.form, body), stm.attrs, stm.loc)
        if one_group is None:
            walk.emit(flat)
        else:
            _emit_choice(walk, flat, one_group)
        return None
    if not parallel:
        return Unlike("the body of the loop has no parallelism")
    uniform = uniform_scalars(walk, loop)
    if isinstance(loop.form, ir.WhileLoop) and loop.form.cond not in uniform:
        return "a while loop may run a different number of times at each point"
    form = loop.form if isinstance(loop.form, ir.ForLoop) else None
    late = form is not None and not walk.invariant(form.bound)
    if form is not None and late and _code_of_host(walk, form.bound) is None:
        return "it runs a different number of times at each point"
    ragged = not all(walk.regular(p.param.type) for p in loop.params)
    if why := reshaped(walk, loop) or walk.make_known(free_vars(stm), checks=ragged):
        return why

    def interchanged(front: Walk) -> str | None:
        known = stm
        if form is not None and late:
            trips = replace(form, bound=_at_host(front, form.bound))
            known = replace(stm, exp=replace(loop, form=trips))
        return _emit_interchanged(front, known, uniform)

    note = f"the loop goes outside of {show_nest(walk.nest)}"
    return attempted(walk, "G7", stm, note, interchanged)


def _code_of_host(walk: Walk, scalar: Atom) -> ir.Body | None:
    """The definitions of a scalar if it is equal at all points of Σ; None if it may differ."""
    if walk.level is not ir.Level.GRID:
        return None
    code = walk.nest.kernel_body((), (scalar,))
    inside = {p.name for stm in code.stms for p in stm.pat}
    known = all(is_scalar(stm) and all(
        name in inside or walk.invariant(name) for name in free_vars(stm)) for stm in code.stms)
    return code if scalar in inside and known else None


def _at_host(walk: Walk, scalar: Atom) -> VName:
    """An i64 that is the same at all points of Σ, as the host computes it; 0 if Σ has none."""
    code = _code_of_host(walk, scalar)
    assert code is not None
    return walk.emitted("trips", Prim.I64, ir.If(
        _if_any_point(walk, TRUE), walk.flattener.copy_body(code), ir.Body((), (i64(0),)),
        (Prim.I64,)))


def uniform_scalars(walk: Walk, loop: ir.Loop) -> frozenset[VName]:
    """The scalars that a loop carries, and that are the same at all points of Σ.

    Each is computed of such scalars, and of scalars from outside of Σ.
    """
    codes = {p.param.name: ir.Body(needed_for(loop.body.stms, (after,)), (after,))
             for p, after in zip(loop.params, loop.body.result, strict=True)
             if isinstance(p.param.type, Prim) and walk.invariant(p.init)}
    return _same_everywhere(walk, loop, {
        name: code for name, code in codes.items() if all(
            isinstance(stm.exp, ir.PrimOp | ir.Convert | ir.AtomExp) and not may_fail(stm.exp)
            for stm in code.stms)})


def _same_everywhere(walk: Walk, loop: ir.Loop, codes: Mapping[VName, ir.Body]
                     ) -> frozenset[VName]:
    """The values of a loop that are the same at all points of Σ; ``codes`` have the next values."""
    carried = {p.param.name for p in loop.params}
    found = frozenset(codes)
    while True:
        kept = frozenset(name for name in found if all(
            each in found or (each not in carried and walk.invariant(each))
            for each in names_from_outside(codes[name])))
        if kept == found:
            return found
        found = kept


def _if_any_point(walk: Walk, cond: Atom) -> Atom:
    """The condition, or false if Σ has no point: a loop that no point runs might not end."""
    for width in walk.nest.widths:
        some = walk.holds("lt", i64(0), width, base="some")
        cond = walk.both(cond, some, "both")
    return cond


def _emit_interchanged(walk: Walk, stm: ir.Stm, uniform: frozenset[VName]) -> str | None:
    """Emit the loop around Σ: arrays over Σ for its parameters, but for ``uniform`` values.

    An array whose length differs between points is a part of the array that has the elements of
    all points.  The reason if that is impossible.
    """
    loop, flattener = ir.node_of(stm, ir.Loop), walk.flattener
    widths = [width_of(walk, p.param.type) for p in loop.params]
    apart = None if any(widths) else _parted(walk, loop)
    if apart is not None:
        uniform = apart.uniform
    scalar = [p.param.name in uniform for p in loop.params]
    inits = [p.init if one else walk.expand(p.init, p.param.type) if width is None
             else flat_array(walk, as_name(p.init), width)
             for p, one, width in zip(loop.params, scalar, widths, strict=True)]
    params = tuple(p.param if one else ir.Param(
        flattener.names.fresh(p.param.name), array_of(walk.nest.widths, p.param.type)
        if width is None else flattener.types[as_name(init)])
        for p, one, width, init in zip(loop.params, scalar, widths, inits, strict=True))
    if isinstance(loop.form, ir.WhileLoop):
        number = next(n for n, p in enumerate(params) if p.name == loop.form.cond)
        inits[number] = _if_any_point(walk, inits[number])
    flattener.learn_params(params)
    inside, varying = Walk(flattener, walk.nest), [not one for one in scalar]
    _bind_varying(inside, [p.param for p in loop.params], params, scalar, widths)
    if apart is None:
        uniform_after = pick(loop.body.result, scalar)
        after = flattener.copy_body(
            ir.Body(needed_for(loop.body.stms, uniform_after), uniform_after))
        rest = ir.Body(loop.body.stms, pick(loop.body.result, varying))
    else:
        (after, _), rest = flattener.body(Nest(), apart.same), apart.rest
    body = _varying_body(inside, rest, [p.param.type for p in pick(loop.params, varying)],
                         pick(widths, varying))
    if isinstance(body, str):
        return body
    scalars, arrays = iter(after.result), iter(body.result)
    result = tuple(next(scalars if one else arrays) for one in scalar)
    host = tuple(flattener.fresh(p.name, p.type if one else of.type if width else array_of(
        walk.nest.widths, p.type))
        for p, of, one, width in zip(stm.pat, params, scalar, widths, strict=True))
    carried = tuple(ir.LoopParam(p, init) for p, init in zip(params, inits, strict=True))
    walk.emit(ir.Stm(host, ir.Loop(carried, loop.form, ir.Body((*after.stms, *body.stms), result)),
                     stm.attrs, stm.loc))
    _bind_varying(walk, stm.pat, host, scalar, widths)
    for param, outside in zip(pick(stm.pat, scalar), pick(host, scalar), strict=True):
        walk.emit(ir.Stm((param,), ir.AtomExp(outside.name)))
    return None


def _bind_varying(walk: Walk, pat: Sequence[ir.Param], host: Sequence[ir.Param],
                  scalar: Sequence[bool], widths: Sequence[VName | None]) -> None:
    """Bind the names of a loop to their parts of arrays of the host, but for scalars."""
    for param, array, one, width in zip(pat, host, scalar, widths, strict=True):
        if width is not None:
            bind_parts(walk, [param], [array], width)
        elif not one:
            walk.bind([param], [array])


def _varying_body(inside: Walk, body: ir.Body, types: Sequence[Type],
                  widths: Sequence[VName | None]) -> ir.Body | str:
    """A body whose results differ between points, as arrays of the host; the reason if not."""
    flattener = inside.flattener
    if not any(widths):
        return flattener.body(inside.nest, body, types)[0]
    regular = [width is None for width in widths]
    single = pick(body.result, regular)
    flattener.learn_atoms(single, pick(types, regular))
    found = segmented(inside, body, single, [
        (atom, width) for atom, width in zip(body.result, widths, strict=True)
        if width is not None])
    if isinstance(found, str):
        return found
    scalars, data = map(iter, found)
    return ir.Body(tuple(inside.out), tuple(next(scalars if one else data) for one in regular))


# Arrays that are the same at all points, such as the values of a function whose derivatives along
# several tangents are taken at once.  The host computes them once in an iteration.

@dataclass(frozen=True, slots=True)
class _Parted:
    """The body of a loop in two: what is the same at all points, and what differs.

    ``uniform`` are the parameters that the first part computes anew.
    """

    uniform: frozenset[VName]
    same: ir.Body
    rest: ir.Body


def _parted(walk: Walk, loop: ir.Loop) -> _Parted | None:
    """The parts of a for loop's body; None if no array is the same at all points.

    Provided nothing in it can fail: the first part runs even if Σ has no points.
    """
    if (walk.level is not ir.Level.GRID or not isinstance(loop.form, ir.ForLoop)
            or not any(not isinstance(p.param.type, Prim) and walk.invariant(p.init)
                       for p in loop.params)
            or body_may_fail(loop.body) or any(
                isinstance(stm.exp, ir.Loop) and isinstance(stm.exp.form, ir.WhileLoop)
                for stm in statements_inside((loop.body,)))):
        return None
    uniform = _same_everywhere(walk, loop, {
        p.param.name: _needed(walk, loop.body.stms, (after,))
        for p, after in zip(loop.params, loop.body.result, strict=True) if walk.invariant(p.init)})
    if all(isinstance(p.param.type, Prim) for p in loop.params if p.param.name in uniform):
        return None
    is_uniform = [p.param.name in uniform for p in loop.params]
    after = pick(loop.body.result, is_uniform)
    first = _needed(walk, loop.body.stms, after)
    made = [p.name for stm in first.stms for p in stm.pat]
    renamed = rename_body(ir.Body(first.stms, (*after, *made)), walk.flattener.names)
    walk.flattener.learn_body(renamed)
    same = ir.Body(renamed.stms, renamed.result[:len(after)])
    others = substitute_body(loop.body, dict(zip(made, renamed.result[len(after):], strict=True)))
    varying = pick(others.result, [not each for each in is_uniform])
    return _Parted(uniform, same, _needed(walk, others.stms, varying))


def _needed(walk: Walk, stms: tuple[ir.Stm, ...], results: tuple[Atom, ...]) -> ir.Body:
    """The code that results need, with no further results of maps in it."""
    body = ir.Body(needed_for(stms, results), results)
    return BackwardWalk(Rewriting(walk.flattener.names)).body(body)


@flattening("G8", ir.If)
def branch_interchange(walk: Walk, stm: ir.Stm, branch: ir.If) -> str | None:
    """Σ ⊢ if c then e else f ⇒ if c then (Σ ⊢ e) else (Σ ⊢ f)      c invariant to Σ"""
    parallel = has_parallelism(branch.then_) or has_parallelism(branch.else_)
    if not parallel and (walk.nest.space or walk.level is ir.Level.LOCAL):
        return Unlike("the branches have no parallelism")
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
        flattener.derivation.fired("G8", stm, f"the branch goes outside of {show_nest(walk.nest)}")
    with flattener.derivation.inside():
        then_, _ = flattener.body(walk.nest, branch.then_, branch.ret)
        else_, _ = flattener.body(walk.nest, branch.else_, branch.ret)
    ret = tuple(array_of(walk.nest.widths, t) for t in branch.ret)
    emit_with_nest(walk, stm, walk.nest, ir.If(branch.cond, then_, else_, ret))
    return None


@flattening("G8", ir.Versions)
def versions_at_top(walk: Walk, stm: ir.Stm, exp: ir.Versions) -> str | None:
    """∅ ⊢ versions (g: e, …) ⇒ versions (g: (∅ ⊢ e), …)

    The versions are programs that schedules made.  Versions of one nest, which flattening makes,
    stand inside of them.
    """
    flattener = walk.flattener
    flattener.derivation.fired("G8", stm, f"{len(exp.alternatives)} programs, by schedules")
    alternatives = []
    for version in exp.alternatives:
        with flattener.derivation.inside():
            body, _ = flattener.body(Nest(), version.body)
        alternatives.append(replace(version, body=body))
    walk.emit(replace(stm, exp=replace(exp, alternatives=tuple(alternatives))))
    return None


MOST_IN_GROUP = 1024
"""The most points of an operation in a loop that one work-group runs as a whole."""


def _one_group(walk: Walk, stm: ir.Stm) -> ir.SegMap | None:
    """The loop as the work of a single group, if all operations inside are known to be small.

    Each of its operations would be a launch that leaves nearly the whole device idle.
    """
    flattener = walk.flattener
    sizes = {size for p in stm.pat for size in shape_of(p.type)}
    chooses = any(isinstance(inside.exp, ir.Versions)
                  for inside in statements_inside(bodies_of(stm.exp)))
    if walk.level is ir.Level.LOCAL or chooses or any(isinstance(size, VName) for size in sizes):
        return None
    whole = ir.Body((stm,), tuple(p.name for p in stm.pat))
    group = flattener.inside_group()
    group.derivation = Derivation(flattener.fun)
    body, _ = group.body(Nest(), flattener.copy_body(whole))
    spaces = list(segop_spaces(body))
    points = [_points(space) for space in spaces]
    if not points or not all(n is not None and n <= MOST_IN_GROUP for n in points):
        return None
    return ir.SegMap(ir.Level.GROUP, (), body, tuple(p.type for p in stm.pat))


def _points(space: ir.Space) -> int | None:
    """The number of points of a space, if it is known now."""
    widths = [dim.width.value for dim in space if isinstance(dim.width, Const)]
    return math.prod(map(int, widths)) if len(widths) == len(space) else None


def _emit_choice(walk: Walk, flat: ir.Stm, one_group: ir.SegMap) -> None:
    """Emit both forms of the loop, as versions."""
    flattener = walk.flattener
    most = max(_points(space) or 0 for space in segop_spaces(one_group.body))
    flattener.derivation.fired("G7", flat, "one work-group may run it all")
    guard = flattener.guard(flat, Kind.INTRA, 0, Size.of(most))
    fresh, inside = flattener.copies(flat.pat), flattener.copies(flat.pat)
    alternatives = (
        ir.Version(guard, Kind.INTRA, ir.Body((ir.Stm(inside, one_group, loc=flat.loc),),
                                        tuple(p.name for p in inside))),
        ir.Version(None, Kind.FLAT, ir.Body((replace(flat, pat=fresh),),
                                      tuple(p.name for p in fresh))))
    ret = tuple(p.type for p in flat.pat)
    walk.emit(ir.Stm(flat.pat, ir.Versions(flattener.site(), alternatives, ret), loc=flat.loc))
