"""Loops whose number of iterations differs between the points of Σ: rule G20."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, needed_for
from runelift.ir.types import FALSE, TRUE, Atom, array_of, as_name, elem_of, i64, shape_of
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.nest import Nest, show_nest
from runelift.rewrite.flatten.parallelism import has_parallelism
from runelift.rewrite.flatten.restriction import Partition, chosen_points, partition, restricted
from runelift.rewrite.flatten.rules.common import attempted, reshaped, segmented, width_of
from runelift.rewrite.flatten.rules.control import uniform_scalars
from runelift.rewrite.flatten.segments import bind_parts, elements_nest, flat_array, start_of
from runelift.rewrite.flatten.walk import Walk


@flattening("G20", ir.Loop)
def loop_over_active_points(walk: Walk, stm: ir.Stm, loop: ir.Loop) -> str | None:
    """Σ ⊢ loop (x = a) while c do e ⇒
           loop (p = points of Σ where c, x' = a') while |p| > 0 do
             (Σ | p, x := x'[p] ⊢ e); x'[p] := e'; points of p where c

    Σ | p is Σ restricted to its active points.  So a point runs its own number of iterations, and
    the value of a point that ended stays in its place.  The host counts iterations of a for loop,
    as all active points are in one.  Provided e has parallelism, and x keeps its shape.  An x whose
    length differs between points is a part of the array with the elements of all points.
    """
    if not walk.nest.space or walk.level is not ir.Level.GRID:
        return Unlike("it is under no nest over the grid")
    if not has_parallelism(loop.body):
        return Unlike("the body of the loop has no parallelism")
    if why := reshaped(walk, loop):
        return why
    walk.check_definitions(stm)  # a loop might not end where a check fails
    if why := walk.make_known(free_vars(stm), checks=True):
        return why
    note = f"a loop over the active points of {show_nest(walk.nest)}"
    return attempted(walk, "G20", stm, note, lambda front: _emit_loop(front, stm, loop))


@dataclass(frozen=True, slots=True)
class _Carried:
    """A value that a loop carries: its parameter, its next value, and its parameter of the host.

    ``array`` has the values for all points of Σ.  A ``uniform`` scalar is the same at all active
    points, so the host carries it beside.  An array of another ``width`` at each point has its
    elements from ``start`` on.
    """

    inside: ir.LoopParam
    after: Atom
    array: ir.Param
    uniform: bool
    width: VName | None
    start: Atom

    def at(self, number: VName) -> ir.Stm:
        """The definition of the parameter at the point of a number."""
        shape = shape_of(self.inside.param.type)
        dims: tuple[ir.Dim, ...] = (number, *map(whole, shape)) if self.width is None else (
            ir.SliceDim(self.start, self.width, i64(1)),)
        return ir.Stm((self.inside.param,), ir.Index(self.array.name, dims))


@dataclass(frozen=True, slots=True)
class _Active:
    """The parameters of the host loop about its active points, whose flat numbers are carried."""

    some: ir.Param
    count: ir.Param
    points: ir.Param
    counter: tuple[ir.Param, ...]

    def params(self) -> tuple[ir.Param, ...]:
        """The parameters in order."""
        return (self.some, self.count, self.points, *self.counter)


def _emit_loop(walk: Walk, stm: ir.Stm, loop: ir.Loop) -> str | None:
    """Emit the loop of the host, and bind the results at each point; the reason if impossible."""
    flattener, form = walk.flattener, loop.form
    inits, carried = list[VName](), list[_Carried]()
    uniform = uniform_scalars(walk, loop)
    for p, after in zip(loop.params, loop.body.result, strict=True):
        if not _is_condition(loop, p.param.name):
            width = width_of(walk, p.param.type)
            inits.append(walk.expand_flat(p.init, p.param.type) if width is None
                         else flat_array(walk, as_name(p.init), width))
            array = walk.fresh(p.param.name.base, flattener.types[inits[-1]])
            carried.append(_Carried(p, after, array, p.param.name in uniform, width,
                                    i64(0) if width is None else start_of(walk, width)))
    some, parts = _parted(walk, _first_condition(walk, loop))
    count = walk.fresh("active", Prim.I64)
    active = _Active(
        walk.fresh("some", Prim.BOOL), count,
        walk.fresh("points", array_of((count.name,), Prim.I64)),
        () if isinstance(form, ir.WhileLoop) else (ir.Param(form.index, Prim.I64),))
    scalars = [each.inside for each in carried if each.uniform]
    params = (*active.params(), *(p.param for p in scalars), *(each.array for each in carried))
    flattener.learn_params(params)
    values = (some, parts.chosen, chosen_points(walk, parts),
              *(i64(0) for _ in active.counter), *(p.init for p in scalars), *inits)
    with flattener.derivation.inside():
        body = _iteration(walk, loop, active, carried)
    if isinstance(body, str):
        return body
    names = {p.name: flattener.names.fresh(p.name) for p in params}
    host = tuple(ir.Param(names[p.name], array_of(
        (names[count.name],), Prim.I64) if p is active.points else p.type) for p in params)
    walk.emit(ir.Stm(host, ir.Loop(
        tuple(ir.LoopParam(p, value) for p, value in zip(params, values, strict=True)),
        ir.WhileLoop(active.some.name), body), stm.attrs, stm.loc))
    results = iter(zip(carried, host[len(host) - len(carried):], strict=True))
    for param, p in zip(stm.pat, loop.params, strict=True):
        if _is_condition(loop, p.param.name):
            walk.nest = walk.nest.define([ir.Stm((param,), ir.AtomExp(FALSE))])
            continue
        each, array = next(results)
        if each.width is None:
            walk.bind_flat([param], [array])
        else:
            bind_parts(walk, [param], [array], each.width)
    return None


def _is_condition(loop: ir.Loop, name: VName) -> bool:
    return isinstance(loop.form, ir.WhileLoop) and loop.form.cond == name


def _first_condition(walk: Walk, loop: ir.Loop) -> Atom:
    """The condition before the first iteration, at each point of Σ."""
    if isinstance(loop.form, ir.ForLoop):
        return walk.definitions.holds("lt", i64(0), loop.form.bound, base="on")
    return next(p.init for p in loop.params if _is_condition(loop, p.param.name))


def _iteration(walk: Walk, loop: ir.Loop, active: _Active, carried: list[_Carried]
               ) -> ir.Body | str:
    """The body of the host loop: an iteration of the active points, and who is active next.

    The reason if that is impossible.
    """
    flattener = walk.flattener
    nest, number = restricted(walk, active.points.name, active.count.name)
    inside = Walk(flattener, nest.define(
        each.at(number) for each in carried if not each.uniform))
    stms, conditions = loop.body.stms, list[Atom]()
    scalars = tuple(each.after for each in carried if each.uniform)
    uniform = flattener.copy_body(ir.Body(needed_for(stms, scalars), scalars))
    inside.emit(*uniform.stms)
    if isinstance(loop.form, ir.WhileLoop):
        inside.nest = inside.nest.define([ir.Stm(
            (ir.Param(loop.form.cond, Prim.BOOL),), ir.AtomExp(TRUE))])
        conditions += [after for p, after in zip(loop.params, loop.body.result, strict=True)
                       if _is_condition(loop, p.param.name)]
    changed = [each for each in carried if each.after != each.inside.param.name]
    varying = [each for each in changed if not each.uniform and each.width is None]
    ragged = [(each, each.width) for each in changed if each.width is not None]
    flattener.learn_atoms((each.after for each in varying),
                          (each.inside.param.type for each in varying))
    single = (*conditions, *(each.after for each in varying))
    walked = segmented(inside, ir.Body(stms, single), single, [
        (each.after, width) for each, width in ragged])
    if isinstance(walked, str):
        return walked
    found, data = walked
    values = dict(zip((each.array for each in varying), found[len(conditions):], strict=True))
    following = iter(uniform.result)
    scalar = {each.array: next(following) for each in carried if each.uniform}
    arrays = _written(inside, number, [each.array for each in changed if each.width is None],
                      values | scalar)
    for (each, width), values_of in zip(ragged, data, strict=True):
        arrays[each.array] = _write_segments(inside, each, width, values_of)
    after = tuple(arrays.get(each.array, each.array.name) for each in carried)
    count = [inside.computed("add", p.name, i64(1), base=p.name.base) for p in active.counter]
    if isinstance(loop.form, ir.ForLoop):
        on = inside.definitions.holds("lt", count[0], loop.form.bound, base="on")
    else:
        on = inside.definitions.read(as_name(found[0]), *inside.nest.indices, base="on")
    some, parts = _parted(inside, on)
    remaining = restricted(inside, chosen_points(inside, parts), parts.chosen).nest
    points = inside.emitted("points", array_of((parts.chosen,), Prim.I64), inside.segmap(
        remaining.space, remaining.kernel_body((), (number,)), (Prim.I64,)))
    return ir.Body(tuple(inside.out), (some, parts.chosen, points, *count, *uniform.result, *after))


def _written(inside: Walk, number: VName, arrays: list[ir.Param], values: dict[ir.Param, Atom]
             ) -> dict[ir.Param, VName]:
    """The arrays of the host after an iteration has written ``values`` of active points.

    A kernel writes all arrays of a shape.  A value is an array over active points, or a scalar of
    the host.
    """
    flattener, written = inside.flattener, dict[ir.Param, VName]()
    for shape in dict.fromkeys(shape_of(each.type)[1:] for each in arrays):
        some = [each for each in arrays if shape_of(each.type)[1:] == shape]
        dims = tuple(ir.SegDim(flattener.names.fresh("k"), size) for size in shape)
        nest = Nest((*inside.nest.space, *dims), inside.nest.defs)
        stms, result = list[ir.Stm](), list[Atom]()
        for each in some:
            value = values[each]
            if isinstance(value, VName) and not isinstance(flattener.types[value], Prim):
                element = inside.fresh(each.name.base, elem_of(each.type))
                stms.append(ir.Stm((element,), ir.Index(value, nest.indices)))
                value = element.name
            result += [number, *(dim.index for dim in dims), value]
        space, body = inside.kernel(nest, tuple(stms), tuple(result))
        host = flattener.copies(some)
        inside.emit(ir.Stm(host, ir.SegScatter(inside.level, space, tuple(
            ir.Dest(each.name, 1 + len(dims)) for each in some), body)))
        written.update((each, p.name) for each, p in zip(some, host, strict=True))
    return written


def _write_segments(inside: Walk, each: _Carried, width: VName, values: VName) -> VName:
    """The elements of all points, after an iteration writes the elements of active points."""
    flattener, inner, code = inside.flattener, elements_nest(inside, width), Code(inside.flattener)
    place = code.computed("add", each.start, inner.at, base="place")
    value = code.read(values, inner.nest.indices[0], base=each.array.name.base)
    space, body = inside.kernel(inner.nest, tuple(code.out), (place, value))
    (host,) = flattener.copies([each.array])
    inside.emit(ir.Stm((host,), ir.SegScatter(
        inside.level, space, (ir.Dest(each.array.name, 1),), body)))
    return host.name


def _parted(walk: Walk, cond: Atom) -> tuple[VName, Partition]:
    """True if the condition holds at some points of Σ, and the partition of the points by it.

    No more points are chosen than there are.  The least of both numbers says so to predictions,
    which do not know what a device counts.
    """
    parts = partition(walk, cond)
    some = walk.holds("lt", i64(0), parts.chosen, base="some")
    least = walk.computed("min", parts.chosen, parts.count, base="active")
    return some, replace(parts, chosen=least)
