"""Functions that call themselves: rules G22 and G23."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import APPENDS
from runelift.ir.base.numerals import counted
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import (
    free_vars,
    map_inside,
    names_from_outside,
    statements_inside,
    substitute_body,
    substitute_type,
)
from runelift.ir.types import Atom, Const, Type, array_of, elem_of, i64, shape_of
from runelift.rewrite.engine.pick import names_in
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.lifted import Form, Lifted, joined_calls
from runelift.rewrite.flatten.nest import Nest, show_nest
from runelift.rewrite.flatten.parallelism import called_in
from runelift.rewrite.flatten.rules.common import IN_TURN, Results, attempted
from runelift.rewrite.flatten.segments import (
    bind_packed,
    define_number,
    number_of_elements,
    packed,
    start_of,
)
from runelift.rewrite.flatten.walk import Walk


@flattening("G22", ir.Recursion)
def recursion_over_points(walk: Walk, stm: ir.Stm, exp: ir.Recursion) -> str | None:
    """Σ ⊢ recursive f (p = a) do e ⇒ recursive f↑ (k = n, p' = a') do if k > 0 then (⟨q < k⟩ ⊢ e)

    f↑ takes n points, and p := p'[q].  An empty Σ is one point, if f calls itself in a map or
    flatmap, or twice so that no call needs the other.  Provided all calls in e stand where G3, G19
    and such rules carry them outwards, and arrays of varying length have scalars as elements.
    """
    if walk.level is not ir.Level.GRID:
        return "it stands inside of a group"
    if not walk.nest.space and not _is_broad(exp, exp.body):
        return Unlike("its calls follow each other")
    if why := walk.make_known(free_vars(stm), checks=True):
        return why
    nest = walk.nest if walk.nest.space else Nest(
        (ir.SegDim(walk.fresh("one", Prim.I64).name, i64(1)),))
    points = f"points of {show_nest(nest)}" if walk.nest.space else "calls of a level"
    made = attempted(walk, "G22", stm, f"for all {points} at once",
                     lambda front: _lift(front, stm), nest)
    walk.flattener.lifted.pop(exp.function, None)
    if isinstance(made, str):
        return made
    if walk.nest.space:
        walk.nest = made
        return None
    (dim,) = made.space
    walk.name(dim.index, ir.AtomExp(i64(0)))
    walk.emit(*made.kernel_body((), tuple(p.name for p in stm.pat)).stms)
    return None


@flattening("G22", ir.Recursion, ir.Call)
def recursion_at_top(walk: Walk, stm: ir.Stm, exp: ir.Recursion | ir.Call) -> str | None:
    """∅ ⊢ recursive f (p = a) do e ⇒ recursive f (p = a) do (∅ ⊢ e)      ∅ ⊢ f a ⇒ f a

    A kernel has no stack, so points of a nest whose calls no rule carries outwards run in turn
    (:func:`runelift.rewrite.flatten.extents.in_turn`).
    """
    if walk.nest.space:
        return Unlike("it stands in a nest")
    if isinstance(exp, ir.Recursion):
        walk.flattener.derivation.fired("G22", stm, "a function of the host")
        with walk.flattener.derivation.inside():
            body, _ = walk.flattener.body(Nest(), exp.body)
        stm = replace(stm, exp=replace(exp, body=body))
    walk.emit(stm)
    return None


@flattening("G23", ir.Call)
def call_over_points(walk: Walk, stm: ir.Stm, call: ir.Call) -> str | None:
    """Σ ⊢ f a; f b ⇒ f↑ (2 n) (a' ++ b')      neither call needs the other

    One call over all points of Σ is f↑ n a'.  An argument of varying length is the array that has
    its elements, with the place where they start at each point.
    """
    if stm.pat and stm.pat[0].name in walk.nest.defs:
        return None  # made together with an earlier call
    lifted = walk.flattener.lifted.get(call.function)
    if lifted is None:
        return IN_TURN
    if walk.level is not ir.Level.GRID:
        return "it stands inside of a group"
    stms = (stm, *(walk.partners.get(stm.pat[0].name, ()) if stm.pat else ()))
    for each in stms:
        walk.check_definitions(each)
    if why := walk.make_known({a for each in stms for a in free_vars(each)}, checks=True):
        return why
    calls = [ir.node_of(each, ir.Call) for each in stms]
    walk.flattener.derivation.fired(
        "G23" if len(stms) > 1 else "G22", stm,
        f"{counted(len(stms), 'call')} at each point of {show_nest(walk.nest)}, all at once")
    args = _arguments(walk, lifted, [each.args for each in calls])
    pat = _pattern(walk, lifted, stm, args[0])
    walk.emit(ir.Stm(pat, ir.Call(lifted.name, tuple(args), tuple(p.type for p in pat)),
                     loc=stm.loc))
    _bind(walk, lifted, stms, pat)
    return None


def _is_broad(exp: ir.Recursion, body: ir.Body) -> bool:
    """True if a function calls itself in a map, or twice so that no call needs the other."""
    lifted = {exp.function: Lifted(exp.function, (), ())}
    if joined_calls(body, lifted)[1]:
        return True
    for stm in body.stms:
        match stm.exp:
            case ir.Map(lam=lam) | ir.Redomap(lam=lam) if called_in(lam.body):
                return True
            case ir.Loop(body=inside) if APPENDS in stm.attrs and called_in(inside):
                return True
            case ir.If(then_=then_, else_=else_):
                if _is_broad(exp, then_) or _is_broad(exp, else_):
                    return True
    return False


# The function

def _lift(walk: Walk, stm: ir.Stm) -> Nest | str:
    """Emit f↑ applied to the points of Σ; Σ with its results, or the reason if impossible."""
    exp = _closed(walk, ir.node_of(stm, ir.Recursion))
    calls = [s.exp for s in statements_inside((exp.body,))
             if isinstance(s.exp, ir.Call) and s.exp.function == exp.function]
    lifted = _forms(walk, stm, exp, calls)
    if isinstance(lifted, str):
        return lifted
    for given, form in zip(exp.params, lifted.params, strict=True):
        if form is Form.FIXED:
            walk.emit(ir.Stm((given.param,), ir.AtomExp(given.init)))
    walk.flattener.lifted[exp.function] = lifted
    args = _arguments(walk, lifted, [tuple(p.init for p in exp.params)])
    function = _function(walk, exp, lifted)
    if isinstance(function, str):
        return function
    (params, body), pat = function, _pattern(walk, lifted, stm, args[0])
    walk.emit(ir.Stm(pat, ir.Recursion(
        lifted.name, tuple(map(ir.LoopParam, params, args)), body, tuple(p.type for p in pat)),
        stm.attrs, stm.loc))
    _bind(walk, lifted, (stm,), pat)
    return walk.nest


def _closed(walk: Walk, exp: ir.Recursion) -> ir.Recursion:
    """A recursion that has the names of Σ as parameters, which all calls hand on.

    These come first, as types of the other parameters may name them.
    """
    used, todo = dict[VName, None](), [*names_from_outside(exp.body)]
    own = {p.param.name for p in exp.params}
    while todo:
        name = todo.pop()
        if name in own or name in used or walk.nest.invariant(name):
            continue
        used[name] = None
        todo += [a for a in shape_of(walk.flattener.types[name]) if isinstance(a, VName)]
    if not used:
        return exp
    types = walk.flattener.types
    order = sorted(used, key=lambda name: (len(shape_of(types[name])), name.base))
    params = [walk.fresh(name.base, types[name]) for name in order]
    names = dict[VName, Atom](zip(order, (p.name for p in params), strict=True))
    renamed = [replace(p, type=substitute_type(p.type, names)) for p in params]
    extra = tuple(p.name for p in params)

    def hand_on(body: ir.Body) -> ir.Body:
        return ir.Body(tuple(map(handed_on, body.stms)), body.result)

    def handed_on(stm: ir.Stm) -> ir.Stm:
        if isinstance(stm.exp, ir.Call):
            return stm if stm.exp.function != exp.function else replace(
                stm, exp=replace(stm.exp, args=(*extra, *stm.exp.args)))
        return replace(stm, exp=map_inside(
            stm.exp, hand_on, lambda lam: replace(lam, body=hand_on(lam.body))))

    walk.flattener.learn_params(renamed)
    body = substitute_body(hand_on(exp.body), names)
    walk.flattener.learn_body(body)
    own_params = [replace(p, param=replace(p.param, type=substitute_type(p.param.type, names)))
                  for p in exp.params]
    walk.flattener.learn_params(p.param for p in own_params)
    return replace(exp, params=(*(ir.LoopParam(p, a) for p, a in zip(renamed, order, strict=True)),
                                *own_params), body=body)


def _forms(walk: Walk, stm: ir.Stm, exp: ir.Recursion, calls: Sequence[ir.Call]
           ) -> Lifted | str:
    """The forms of arguments and results of f↑; the reason if one has none."""
    fixed = dict[VName, Atom]()
    for number, given in enumerate(exp.params):
        param = given.param
        if walk.invariant(given.init) and all(c.args[number] == param.name for c in calls):
            fixed[param.name] = given.init
    bound = {p.param.name for p in exp.params if p.param.name not in fixed} | {
        p.name for s in statements_inside((exp.body,)) for p in s.pat} | {p.name for p in stm.pat}

    def known(size: Atom) -> bool:
        return isinstance(size, Const) or (size not in bound and walk.invariant(size))

    params = list[Form]()
    for given in exp.params:
        shape = shape_of(given.param.type)
        if all(map(known, shape)):
            params.append(Form.FIXED if given.param.name in fixed else Form.EACH)
        elif len(shape) == 1:
            params.append(Form.SEGMENTS)
        else:
            return f"its argument '{given.param.name.base}' has rows, which differ in number"
    results = list[Form]()
    for number, type_ in enumerate(exp.ret):
        shapes = {tuple(fixed.get(size, size) if isinstance(size, VName) else size
                        for size in shape_of(each)) for each in (
                            type_, *(c.ret[number] for c in calls))}
        if len(shapes) == 1 and all(map(known, next(iter(shapes)))):
            results.append(Form.EACH)
        elif len(shape_of(type_)) == 1:
            results.append(Form.SEGMENTS)
        else:
            return "a result has rows, which differ in number"
    return Lifted(walk.flattener.names.fresh(exp.function), tuple(params), tuple(results))


def _function(walk: Walk, exp: ir.Recursion, lifted: Lifted
              ) -> tuple[list[ir.Param], ir.Body] | str:
    """The parameters and body of f↑; the reason if a call stays in a kernel."""
    flattener, count = walk.flattener, walk.fresh("calls", Prim.I64)
    index, params = walk.fresh("q", Prim.I64).name, [count]
    inner = Walk(flattener, Nest((ir.SegDim(index, count.name),)))
    for given, form in zip(exp.params, lifted.params, strict=True):
        param = given.param
        if form is Form.EACH:
            params.append(walk.fresh(param.name.base, array_of((count.name,), param.type)))
            inner.bind([param], params[-1:])
        elif form is Form.SEGMENTS:
            total = walk.fresh("total", Prim.I64)
            data = walk.fresh(param.name.base, array_of((total.name,), elem_of(param.type)))
            starts = walk.fresh("starts", array_of((count.name,), Prim.I64))
            params += [total, data, starts]
            start = inner.definitions.read(starts.name, index, base="start")
            inner.definitions.emit(ir.Stm((param,), ir.Index(data.name, (
                ir.SliceDim(start, shape_of(param.type)[0], i64(1)),))))
    inner.statements(exp.body)
    each = list(zip(exp.body.result, exp.ret, lifted.results, strict=True))
    one = [(atom, type_) for atom, type_, form in each if form is Form.EACH]
    inner.look_ahead(names_in([atom for atom, _ in one]))
    flattener.learn_atoms((atom for atom, _ in one), (type_ for _, type_ in one))
    if why := inner.make_arrays_known([atom for atom, type_, _ in each if shape_of(type_)]):
        return why
    segments = [packed(inner, atom) for atom, _, form in each
                if form is Form.SEGMENTS and isinstance(atom, VName)]
    single = list(inner.results(tuple(atom for atom, _ in one)))
    results, types = list[Atom](), list[Type]()
    for _, type_, form in each:
        if form is Form.EACH:
            results.append(single.pop(0))
            types.append(array_of((count.name,), type_))
        else:
            part, total = segments.pop(0), walk.fresh("total", Prim.I64)
            results += [part.total, part.data]
            types += [Prim.I64, array_of((total.name,), elem_of(type_))]
    body = ir.Body(tuple(inner.out), tuple(results))
    if any(isinstance(s.exp, ir.Call) and s.exp.function == exp.function
           for s in statements_inside((body,))):
        return f"a call of '{exp.function.base}' stands where its points run in turn"
    return params, _if_any(walk, count.name, body, types)


def _if_any(walk: Walk, count: VName, body: ir.Body, types: Sequence[Type]) -> ir.Body:
    """The body if there is a point, else empty results: f↑ of 0 points does not call."""
    code, taken = Code(walk.flattener), Results(walk.flattener)
    for value, type_ in zip(body.result, types, strict=True):
        shape, empty = shape_of(type_), type_
        if shape and shape[0] != count:  # segments: as many elements as the result before says
            type_ = array_of((taken.params[-1].name,), elem_of(type_))
            empty = array_of((i64(0),), elem_of(type_))
        taken.add("r", type_, value, empty)
    taken.emit(code, count, body.stms)
    return code.as_body(*(p.name for p in taken.params))


# Arguments

@dataclass(frozen=True, slots=True)
class _View:
    """An array at each point: ``data``, of ``total`` elements, from ``start`` on."""

    data: VName
    total: Atom
    start: Atom


def _arguments(walk: Walk, lifted: Lifted, calls: Sequence[tuple[Atom, ...]]) -> list[Atom]:
    """The arguments of f↑ for calls at all points of Σ, first the number of points."""
    views = {(number, place): _view(walk, atom) for number, args in enumerate(calls)
             for place, (atom, form) in enumerate(zip(args, lifted.params, strict=True))
             if form is Form.SEGMENTS and isinstance(atom, VName)}
    scalars = [*(a for args in calls for a, form in zip(args, lifted.params, strict=True)
                 if form is Form.EACH), *(view.start for view in views.values())]
    stored = [a for a in dict.fromkeys(scalars) if isinstance(a, VName)
              and isinstance(walk.flattener.types[a], Prim) and not walk.invariant(a)
              and walk.nest.expanded(a) is None and _numbered(walk, a) is None]
    if stored:
        walk.flush(stored)
    points = walk.points_of()
    count = walk.product(points, i64(len(calls))) if len(calls) > 1 else points
    found: list[Atom] = [count]
    for place, form in enumerate(lifted.params):
        if form is Form.EACH:
            found.append(walk.joined([_over(walk, args[place], points) for args in calls], count))
        elif form is Form.SEGMENTS:
            found += _segments(walk, [views[number, place] for number in range(len(calls))],
                               points, count)
    return found


def _segments(walk: Walk, views: list[_View], points: Atom, count: Atom) -> list[Atom]:
    """The number of elements, the elements and the starts of an argument, for several calls."""
    starts = [_over(walk, view.start, points) for view in views]
    if len({view.data for view in views}) == 1:
        return [views[0].total, views[0].data, walk.joined(starts, count)]
    total, moved = views[0].total, starts[:1]
    for view, start in zip(views[1:], starts[1:], strict=True):
        moved.append(_shifted(walk, start, points, total))
        total = walk.computed("add", total, view.total, base="total")
    return [total, walk.joined([view.data for view in views], total), walk.joined(moved, count)]


def _shifted(walk: Walk, starts: VName, points: Atom, by: Atom) -> VName:
    """All starts, greater by a number."""
    index, code = walk.fresh("q", Prim.I64).name, Code(walk.flattener)
    moved = code.computed("add", code.read(starts, index, base="start"), by, base="start")
    return walk.emitted("starts", array_of((points,), Prim.I64), walk.segmap(
        (ir.SegDim(index, points),), code.as_body(moved), (Prim.I64,)))


def _over(walk: Walk, atom: Atom, points: Atom) -> VName:
    """A value at all points of Σ, as an array whose first dimension has the points."""
    if (array := _numbered(walk, atom)) is not None:
        return walk.part_of(array, i64(0), array_of((points,), Prim.I64))
    type_ = walk.flattener.types[atom] if isinstance(atom, VName) else atom.prim
    return walk.expand_flat(atom, type_)


def _numbered(walk: Walk, atom: Atom) -> VName | None:
    """The array whose elements are a number at points of Σ, in order, before other elements."""
    match walk.nest.defs.get(atom) if isinstance(atom, VName) else None:
        case ir.Stm((param,), ir.Index(array, (number,))) if (
                param.type == Prim.I64 and number == define_number(walk)):  # offsets are one more
            return array
    return None


def _view(walk: Walk, array: VName) -> _View:
    """The array that has the elements of an array of scalars; they are copied if none has them."""
    types, definition = walk.flattener.types, walk.nest.defs.get(array)
    if definition is None and walk.invariant(array):
        return _View(array, shape_of(types[array])[0], i64(0))
    match definition:
        case ir.Stm(_, ir.AtomExp(VName() as other)):
            return _view(walk, other)
        case ir.Stm(_, ir.Reshape(_, other)) if len(shape_of(types[other])) == 1:
            return _view(walk, other)
        case ir.Stm(_, ir.Index(origin, (*front, ir.SliceDim(start, _, stride)))) if (
                stride == i64(1) and not any(isinstance(dim, ir.SliceDim) for dim in front)):
            if not front:
                base = _view(walk, origin)
                return replace(base, start=_computed(walk, "add", base.start, start))
            if walk.invariant(origin):
                return _row(walk, origin, [a for a in (*front, start)
                                           if not isinstance(a, ir.SliceDim)])
    data, total = packed(walk, array)
    (size,) = shape_of(types[array])
    return _View(data, total, start_of(walk, size))


def _row(walk: Walk, origin: VName, place: Sequence[Atom]) -> _View:
    """The part of an array of several dimensions that begins at a place."""
    type_ = walk.flattener.types[origin]
    shape = shape_of(type_)
    total, start = shape[0], place[0]
    for size, index in zip(shape[1:], place[1:], strict=True):
        total = walk.product(total, size)
        start = _computed(walk, "add", _computed(walk, "mul", start, size), index)
    return _View(walk.emitted(origin.base, array_of((total,), elem_of(type_)),
                         ir.Reshape((total,), origin)), total, start)


def _computed(walk: Walk, op: str, a: Atom, b: Atom) -> Atom:
    """A number of Σ, as a definition."""
    if op == "add" and i64(0) in (a, b):
        return b if a == i64(0) else a
    return walk.definitions.computed(op, a, b, base="start")


# Results

def _pattern(walk: Walk, lifted: Lifted, stm: ir.Stm, count: Atom) -> tuple[ir.Param, ...]:
    """Names for the results of f↑ over ``count`` points."""
    pat = list[ir.Param]()
    for param, form in zip(stm.pat, lifted.results, strict=True):
        type_ = array_of((count,), param.type)
        if form is Form.SEGMENTS:
            pat.append(walk.fresh("total", Prim.I64))
            type_ = array_of((pat[-1].name,), elem_of(param.type))
        pat.append(walk.fresh(param.name, type_))
    return tuple(pat)


def _bind(walk: Walk, lifted: Lifted, stms: Sequence[ir.Stm], pat: tuple[ir.Param, ...]) -> None:
    """Bind the results of calls to their parts of the results of f↑."""
    points, rest = walk.points_of(), iter(pat)
    segments = list[tuple[list[ir.Param], VName]]()
    for place, form in enumerate(lifted.results):
        params = [stm.pat[place] for stm in stms]
        if form is Form.SEGMENTS:
            next(rest)
            segments.append((params, next(rest).name))
            continue
        host = next(rest).name
        for number, param in enumerate(params):
            type_ = array_of((points,), param.type)
            part = host if len(params) == 1 else walk.part_of(
                host, walk.product(points, i64(number)) if number else i64(0), type_)
            walk.bind_flat([param], [ir.Param(part, type_)])
    for params, host in segments:
        begin: Atom = i64(0)
        for param in params:
            (size,) = shape_of(param.type)
            total = number_of_elements(walk, size)
            flat = array_of((total,), elem_of(param.type))
            bind_packed(walk, param, walk.part_of(host, begin, flat) if len(params) > 1 else
                        walk.emitted(host.base, flat, ir.Reshape((total,), host)))
            begin = walk.computed("add", begin, total, base="begin")
