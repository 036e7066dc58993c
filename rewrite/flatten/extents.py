r"""Sizes that only a kernel knows: a first kernel finds out how large they become.

A work-item that makes an array needs memory for it before the kernel starts.  A work-item may
compute the size itself, as in ``map (\n -> let xs = map f (iota n) in ...) ns``.  Then another
kernel goes through the same index space and computes just the size.  Its greatest value bounds the
size in the kernel proper::

    segmap ⟨i < w⟩ { s = e; xs : [s]t = ...; r }
    ⇒ b = segred ⟨i < w⟩ max 0 { s = e; s }
      segmap ⟨i < w⟩ { s = e; s' = min(s, b); xs : [s']t = ...; r }

``min(s, b)`` is s, so the meaning is as before; it says that b is enough memory.

Sizes that branches and loops return with their arrays have no such bound.  Nor have sizes that
change from one iteration to the next.  Unless another version can do without, such a kernel becomes
a loop of the host over its points.  The body of the loop is flattened like any other code of the
host, so that the parallelism inside is used::

    r = segmap ⟨i < w⟩ { e }
    ⇒ r = loop (r = replicate w 0) for i < w do s; r with [i] = x      ∅ ⊢ e ⇒ s; x

Other segmented operations read what such a loop made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.length_sums import sum_of_lengths, without_sum
from runelift.ir.analysis.unbounded import unbounded_size
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.names import Names, VName
from runelift.ir.operators import one_operation
from runelift.ir.prim import Prim
from runelift.ir.ragged import Fact
from runelift.ir.traverse import (
    Mapper,
    bodies_inside,
    bodies_of,
    free_vars,
    lambdas_of,
    map_stm,
    needed_for,
    rename_body,
    substitute_body,
    substitute_type,
)
from runelift.ir.types import (
    Atom,
    Const,
    Type,
    array_of,
    elem_of,
    i64,
    row_of,
    shape_of,
    zero,
)
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.derivation import Derivation
from runelift.rewrite.flatten.flattener import Flattener
from runelift.rewrite.flatten.nest import Nest
from runelift.rewrite.flatten.parallelism import called_in
from runelift.rewrite.flatten.segments import facts_of


def bound_extents(fun: ir.Fun, flattener: Flattener) -> ir.Fun:
    """``fun`` with bounds for the sizes that its kernels compute, or without such kernels."""
    extents = _Extents(flattener, flattener.names, flattener.derivation)
    return replace(fun, body=extents.host_body(fun.body))


@dataclass(slots=True)
class _Extents:
    flattener: Flattener
    names: Names
    derivation: Derivation
    facts: dict[VName, VName] = field(default_factory=dict)
    """The lengths that an array of the host has facts about."""
    known: dict[tuple[VName, Fact | None], VName] = field(default_factory=dict)
    """The known facts about the lengths in an array of the host, and an array of such facts."""

    def host_body(self, body: ir.Body) -> ir.Body:
        """Bound sizes in a body that the host runs."""
        stms, outside = list[ir.Stm](), dict(self.known)
        for stm in self.with_facts(body.stms):
            if isinstance(stm.exp, ir.SEGOPS):
                stms += self.kernel(stm, stm.exp)
            elif isinstance(stm.exp, ir.Versions):
                stms += self.versions(stm, stm.exp)
            else:
                self.learn(stm)
                stms.append(map_stm(self.host_bodies(), stm))
        self.known = outside
        return ir.Body(tuple(stms), body.result)

    def learn(self, stm: ir.Stm) -> None:
        """Note what a statement of the host says about lengths."""
        match stm.exp:
            case ir.LengthFacts(lengths):
                self.facts[stm.pat[0].name] = lengths
                self.known[lengths, None] = stm.pat[0].name
            case ir.Index(array, (Const(fact),)) if array in self.facts:
                self.known[self.facts[array], Fact(int(fact))] = stm.pat[0].name

    def with_facts(self, stms: tuple[ir.Stm, ...]) -> Iterator[ir.Stm]:
        """The statements; a sum of lengths becomes a fact if facts are known or needed later."""
        for k, stm in enumerate(stms):
            if (known := self.known_fact(stm)) is not None:
                yield replace(stm, exp=ir.AtomExp(known))
                continue
            found = sum_of_lengths(stm.exp)
            if found is None or not self.has_facts(found.lengths, stms[k + 1:]):
                yield stm
                continue
            yield without_sum(stm, found)
            if (found.lengths, Fact.TOTAL) not in self.known:
                code = Code(self.flattener)
                code.loc = stm.loc
                facts_of(code, found.lengths)
                yield from code.out
            total = self.known[found.lengths, Fact.TOTAL]
            yield ir.Stm((stm.pat[found.place],), ir.AtomExp(total), loc=stm.loc)

    def known_fact(self, stm: ir.Stm) -> VName | None:
        """Facts, or one of them, that a statement asks for though they are known."""
        match stm.exp:
            case ir.LengthFacts(lengths) if (lengths, None) in self.known:
                self.facts[stm.pat[0].name] = lengths
                return self.known[lengths, None]
            case ir.Index(array, (Const(fact),)) if array in self.facts:
                return self.known.get((self.facts[array], Fact(int(fact))))
        return None

    def has_facts(self, lengths: VName, rest: tuple[ir.Stm, ...]) -> bool:
        """True if facts about lengths are known, or the ``rest`` needs them."""
        if (lengths, Fact.TOTAL) in self.known:
            return True
        return any(stm.exp == ir.LengthFacts(lengths) or (
            isinstance(stm.exp, ir.SEGOPS) and any(
                _lengths_with(stm.exp.space, stm.exp.body, name) == lengths
                for name in _wanted(stm.exp.space, stm.exp.body))) for stm in rest)

    def host_bodies(self) -> Mapper:
        """The mapper that applies :meth:`host_body` to the bodies of a statement."""
        return Mapper(lambda a: a, lambda n: n, self.host_body, lambda lam: lam)

    def versions(self, stm: ir.Stm, versions: ir.Versions) -> Iterator[ir.Stm]:
        """Versions whose kernels have bounds; if none has, the last one alone.

        Versions that schedules made all stay, as only the last version has no needs.
        """
        able = [v for v in versions.alternatives
                if versions.by_schedules or not _has_unbounded(v.body)]
        if len(able) == len(versions.alternatives):
            yield map_stm(self.host_bodies(), stm)
        elif len(able) > 1:
            kept = (*able[:-1], replace(able[-1], guard=None))
            yield map_stm(self.host_bodies(), replace(stm, exp=replace(versions,
                                                                       alternatives=kept)))
        else:
            body = self.host_body((able or versions.alternatives)[-1].body)
            yield from body.stms
            for param, atom in zip(stm.pat, body.result, strict=True):
                yield ir.Stm((param,), ir.AtomExp(atom))

    def kernel(self, stm: ir.Stm, kernel: ir.SegOp) -> Iterator[ir.Stm]:
        """The kernels that find bounds, and then the kernel itself."""
        body = kernel.body
        if kernel.level is ir.Level.GRID:
            if (name := _on_host(body)) is not None:
                what, note = ((f"call {name.base}", "kernels never recurse: the points run in turn")
                              if called_in(body) else
                              (f"size {name.base}", "nothing bounds it: the points run in turn"))
                self.derivation.happened("extent", what, note, stm.loc)
                yield from self.host_body(ir.Body(in_turn(self.flattener, stm, kernel), ())).stms
                return
            tried = set[VName]()
            while (name := next((each for each in _wanted(kernel.space, body)
                                 if each not in tried), None)) is not None:
                tried.add(name)
                bound, how = self.bound(kernel.space, body, name)
                if bound is None:
                    continue
                yield from how
                at_start = any(dim.index == name for dim in kernel.space)
                body = self.bounded(body, name, bound, at_start=at_start)
                note = ("its greatest value is found first" if how else
                        "it is below a width" if at_start else "its greatest value is known")
                self.derivation.happened("extent", f"size {name.base}", note, stm.loc)
        yield replace(stm, exp=replace(kernel, body=body)) if body is not kernel.body else stm

    def bound(self, space: ir.Space, body: ir.Body, name: VName
              ) -> tuple[Atom | None, list[ir.Stm]]:
        """A host value that ``name`` never exceeds, and the statements that compute it."""
        for dim in space:
            if dim.index == name:
                return dim.width, []
        if (lengths := _lengths_with(space, body, name)) is not None and (
                longest := self.known.get((lengths, Fact.LONGEST))) is not None:
            return longest, []
        inner = self.greatest(body, name)
        if inner is None:
            return None, []
        found: list[ir.Stm] = []
        while space:
            widths = tuple(dim.width for dim in space[:-1])
            most = ir.Param(self.names.fresh(f"most_{name.base}"), array_of(widths, Prim.I64))
            fresh, inner = self.flattener.fresh_kernel(space, inner)
            found.append(ir.Stm((most,), ir.SegRed(ir.Level.GRID, fresh, (self.maximum(),), inner,
                                             (Prim.I64,))))
            space = space[:-1]
            element = ir.Param(self.names.fresh("most"), Prim.I64)
            indices = tuple(dim.index for dim in space)
            inner = ir.Body((ir.Stm((element,), ir.Index(most.name, indices)),), (element.name,))
        return (found[-1].pat[0].name if found else None), found

    def maximum(self) -> ir.Operator:
        """The greater of two sizes, which are not negative."""
        return one_operation(self.names, "max", i64(0), "m")

    def greatest(self, body: ir.Body, name: VName) -> ir.Body | None:
        """A body that computes the greatest value ``name`` has while ``body`` runs."""
        for k, stm in enumerate(body.stms):
            before = body.stms[:k]
            if any(p.name == name for p in stm.pat):
                return ir.Body((*before, stm), (name,))
            most = ir.Param(self.names.fresh("most"), Prim.I64)
            if (exp := self.greatest_in(stm.exp, name)) is not None:
                extra = self.unused(stm.pat) if isinstance(exp, ir.Loop) else ()
                return ir.Body((*before, ir.Stm((*extra, most), exp, loc=stm.loc)), (most.name,))
        return None

    def unused(self, pat: tuple[ir.Param, ...]) -> tuple[ir.Param, ...]:
        """A pattern with fresh names, also where they are sizes."""
        fresh = {p.name: self.names.fresh(p.name) for p in pat}
        return tuple(ir.Param(fresh[p.name], substitute_type(p.type, fresh)) for p in pat)

    def greatest_in(self, exp: ir.Exp, name: VName) -> ir.Exp | None:
        """An expression whose last result is the greatest value of ``name`` inside of ``exp``."""
        match exp:
            case ir.Map() | ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist():
                return self.greatest_of_all(exp.width, exp.lam, exp.arrays, name)
            case ir.Accumulate(lam=ir.Lambda((acc, *params), body)):
                lam = ir.Lambda(tuple(params), body, ())
                found = self.greatest_of_all(exp.width, lam, exp.arrays, name)
                if found is None:
                    return None
                needed = needed_for(found.lam.body.stms, found.lam.body.result)
                lam = replace(found.lam, body=replace(found.lam.body, stms=needed))
                return None if acc.name in free_vars(lam) else replace(found, lam=lam)
            case ir.Loop(form=ir.ForLoop(index, bound)) if index == name:
                return ir.AtomExp(bound)
            case ir.Loop(params, form, body):
                inner = self.greatest_of([p.param for p in params], body, name)
                if inner is None:
                    return None
                body = _needed_iteration(exp, free_vars(inner))
                inner = rename_body(inner, self.names)
                before, after = (ir.Param(self.names.fresh("most"), Prim.I64) for _ in range(2))
                step = ir.Stm((after,), ir.PrimOp("max", Prim.I64, (before.name, inner.result[0])))
                return ir.Loop((*params, ir.LoopParam(before, i64(0))), form,
                            ir.Body((*body.stms, *inner.stms, step), (*body.result, after.name)))
            case ir.If(cond, then_, else_):
                sides = [self.greatest(side, name) for side in (then_, else_)]
                if sides == [None, None]:
                    return None
                none = ir.Body((), (i64(0),))
                return ir.If(cond, sides[0] or none, sides[1] or none, (Prim.I64,))
        return None

    def greatest_of_all(self, width: Atom, lam: ir.Lambda, arrays: tuple[VName, ...], name: VName
                        ) -> ir.Redomap | None:
        """The maximum of the greatest values of ``name`` in a lambda that runs on all elements."""
        inner = self.greatest_of(lam.params, lam.body, name)
        return None if inner is None else ir.Redomap(width, (self.maximum(),), ir.Lambda(
            lam.params, inner, (Prim.I64,)), arrays)

    def greatest_of(self, params: Iterable[ir.Param], body: ir.Body, name: VName) -> ir.Body | None:
        """As :meth:`greatest` where ``name`` may also be one of the parameters of ``body``."""
        if any(p.name == name for p in params):
            return ir.Body((), (name,))
        return self.greatest(body, name)

    def bounded(self, body: ir.Body, name: VName, bound: Atom, *, at_start: bool) -> ir.Body:
        """``body`` with min(name, bound) for ``name`` from where it is bound on."""
        if at_start:
            return self.cut(body, name, bound)
        stms: list[ir.Stm] = []
        for k, stm in enumerate(body.stms):
            if any(p.name == name for p in stm.pat):
                rest = self.cut(ir.Body(body.stms[k + 1 :], body.result), name, bound)
                return ir.Body((*stms, stm, *rest.stms), rest.result)
            stms.append(map_stm(self.inside(stm.exp, name, bound), stm))
        return ir.Body(tuple(stms), body.result)

    def inside(self, exp: ir.Exp, name: VName, bound: Atom) -> Mapper:
        """The mapper that applies :meth:`bounded` to the bodies of an expression."""
        carried = isinstance(exp, ir.Loop) and name in {
            *(p.param.name for p in exp.params),
            *((exp.form.index,) if isinstance(exp.form, ir.ForLoop) else ())}

        def lambda_(lam: ir.Lambda) -> ir.Lambda:
            first = any(p.name == name for p in lam.params)
            return replace(lam, body=self.bounded(lam.body, name, bound, at_start=first))

        return Mapper(lambda a: a, lambda n: n,
                      lambda b: self.bounded(b, name, bound, at_start=carried), lambda_)

    def cut(self, body: ir.Body, name: VName, bound: Atom) -> ir.Body:
        """``body`` in which a size is the lesser of it and its bound."""
        size = ir.Param(self.names.fresh(name), Prim.I64)
        least = ir.Stm((size,), ir.PrimOp("min", Prim.I64, (name, bound)))
        body = substitute_body(body, {name: size.name})
        return ir.Body((least, *body.stms), body.result)


def _has_unbounded(body: ir.Body) -> bool:
    """True if a body of the host has kernels that need memory without a known bound, or call."""
    return any(_on_host(stm.exp.body) is not None if isinstance(stm.exp, ir.SEGOPS)
               else any(map(_has_unbounded, bodies_of(stm.exp))) for stm in body.stms)


def _on_host(body: ir.Body) -> VName | None:
    """The function or size that keeps a body from running in a kernel; None for other bodies."""
    return called_in(body) or unbounded_size(body.stms) or _self_fed(body)


def _self_fed(body: ir.Body) -> VName | None:
    """A size that no first kernel can bound, in a loop anywhere in a body."""
    for stm in body.stms:
        if isinstance(stm.exp, ir.Loop) and (found := _feeds_itself(stm.exp)) is not None:
            return found
        for inner in bodies_inside(stm.exp):
            if (found := _self_fed(inner)) is not None:
                return found
    return None


def _feeds_itself(loop: ir.Loop) -> VName | None:
    """A size of an array in an iteration that depends on such arrays of earlier iterations."""
    bound: dict[VName, ir.Stm | None] = {p.param.name: None for p in loop.params}
    bound |= {p.name: stm for stm in loop.body.stms for p in stm.pat}
    for size in dict.fromkeys(_sizes(loop.body)):
        if size in bound and not _is_bounded(size, bound) and size in set(
                _sizes(_needed_iteration(loop, {size}))):
            return size
    return None


def _sizes(body: ir.Body) -> Iterator[VName]:
    """The sizes of arrays that the statements of a body make in memory."""
    for stm in body.stms:
        if not isinstance(stm.exp, ir.VIEWS):
            yield from (s for p in stm.pat for s in shape_of(p.type) if isinstance(s, VName))


def _needed_iteration(loop: ir.Loop, wanted: set[VName]) -> ir.Body:
    """The body of a loop with only what ``wanted`` names of an iteration need, and assertions.

    Other values stay as they were at first.  So arrays are left out whose sizes are looked for.
    """
    names = {p.param.name for p in loop.params}
    if any(not names.isdisjoint(shape_of(p.param.type)) for p in loop.params):
        return loop.body
    checks = [stm for stm in loop.body.stms if isinstance(stm.exp, ir.Assert)]
    wanted = wanted.union(*map(free_vars, checks))
    if isinstance(loop.form, ir.WhileLoop):
        wanted.add(loop.form.cond)
    while True:
        used = {p.param.name for p in loop.params} & wanted
        result = tuple(atom if p.param.name in used else p.param.name
                       for p, atom in zip(loop.params, loop.body.result, strict=True))
        needed = needed_for(loop.body.stms, (*wanted, *result))
        found = wanted.union(*map(free_vars, needed))
        if names & found == used:
            kept = set(map(id, (*needed, *checks)))
            return ir.Body(tuple(s for s in loop.body.stms if id(s) in kept), result)
        wanted = found


def _lengths_with(space: ir.Space, body: ir.Body, name: VName) -> VName | None:
    """The array of which ``name`` is the element of each point; None if it is no such element."""
    for stm in body.stms:
        match stm:
            case ir.Stm((param,), ir.Index(lengths, (index,))) if (
                    param.name == name and [dim.index for dim in space] == [index]):
                return lengths
    return None


def _wanted(space: ir.Space, body: ir.Body) -> list[VName]:
    """The sizes of arrays in memory that the host does not know, in the order of binding."""
    bound: dict[VName, ir.Stm | None] = {dim.index: None for dim in space}
    used: dict[VName, None] = {}
    fixed: set[VName] = set()
    _visit(body, bound, used, fixed)
    return [name for name in bound if name in used and name not in fixed]


def _visit(body: ir.Body, bound: dict[VName, ir.Stm | None], used: dict[VName, None],
           fixed: set[VName]) -> None:
    """Collect the names that ``body`` binds, the sizes that it uses, and the ``fixed`` sizes.

    A fixed size is bound by the very statement, or loop, that binds an array with this size.
    """
    for stm in body.stms:
        for param in stm.pat:
            bound[param.name] = stm
        own = {p.name for p in stm.pat}
        if isinstance(stm.exp, ir.Loop):
            own |= {p.param.name for p in stm.exp.params}
            bound.update((p.param.name, None) for p in stm.exp.params)
            fixed.update(size for p in stm.exp.params for size in shape_of(p.param.type)
                         if isinstance(size, VName) and size in own)
            if isinstance(stm.exp.form, ir.ForLoop):
                bound[stm.exp.form.index] = None
        for param in stm.pat:
            for size in shape_of(param.type):
                if isinstance(size, VName) and size in own:
                    fixed.add(size)
                elif isinstance(size, VName) and not isinstance(stm.exp, ir.VIEWS) and (
                        not _is_bounded(size, bound)):  # else code generation finds a bound
                    used[size] = None
        for lam in lambdas_of(stm.exp):
            bound.update((p.name, None) for p in lam.params)
            _visit(lam.body, bound, used, fixed)
        for inner in bodies_of(stm.exp):
            _visit(inner, bound, used, fixed)


def _is_bounded(atom: Atom, bound: dict[VName, ir.Stm | None]) -> bool:
    """True if the host can compute an atom, or an upper bound of it."""
    if _is_exact(atom, bound):
        return True
    match bound.get(atom) if isinstance(atom, VName) else None:
        case ir.Stm(_, ir.PrimOp("add", Prim.I64, args)):
            return all(_is_bounded(a, bound) for a in args)
        case ir.Stm(_, ir.PrimOp("min", Prim.I64, args)):
            return any(_is_bounded(a, bound) for a in args)
    return False


def _is_exact(atom: Atom, bound: dict[VName, ir.Stm | None]) -> bool:
    """True if the host can compute an atom of a kernel."""
    if not isinstance(atom, VName) or atom not in bound:
        return True
    match bound[atom]:
        case ir.Stm(_, ir.PrimOp("add" | "sub" | "mul", Prim.I64, args)):
            return all(_is_exact(a, bound) for a in args)
    return False


# Points that run one after the other

def in_turn(flattener: Flattener, stm: ir.Stm, kernel: ir.SegOp) -> tuple[ir.Stm, ...]:
    """Statements of the host with the meaning of ``stm``, whose points do not run at once."""
    if isinstance(kernel, ir.SegAccumulate):
        raise CompilerLimitation("A function that writes to an accumulator makes an array whose "
                                 "size is not known before it runs.")
    flattener.learn_body(kernel.body)
    flattener.learn_params(ir.Param(dim.index, Prim.I64) for dim in kernel.space)
    if isinstance(kernel, ir.SegMap):
        return _loop(flattener, stm, kernel.space, kernel.body)
    widths = tuple(dim.width for dim in kernel.space)
    types = _operands(flattener, kernel)
    arrays = tuple(flattener.fresh("operand", array_of(widths, t)) for t in types)
    points = _loop(flattener, ir.Stm(arrays, kernel, loc=stm.loc), kernel.space, kernel.body)
    space = tuple(ir.SegDim(flattener.names.fresh(dim.index), dim.width) for dim in kernel.space)
    indices = tuple(dim.index for dim in space)
    stms = tuple(ir.Stm((flattener.fresh("x", type_),), ir.Index(
        array.name, (*indices, *map(whole, shape_of(type_)))))
        for array, type_ in zip(arrays, types, strict=True))
    read = ir.Body(stms, tuple(each.pat[0].name for each in stms))
    return (*points, replace(stm, exp=replace(kernel, space=space, body=read)))


def _operands(flattener: Flattener,
              kernel: ir.SegRed | ir.SegScan | ir.SegScatter | ir.SegHist) -> tuple[Type, ...]:
    """The types of what the body of an operation returns."""
    match kernel:
        case ir.SegScatter(dests=dests):
            return tuple(t for dest in dests for t in (
                *[Prim.I64] * dest.rank, row_of(flattener.types[dest.array], dest.rank)))
        case ir.SegHist(ops=ops):
            return tuple(t for op in ops for t in (Prim.I64, *op.op.lam.ret))
    return kernel.ret


def _loop(flattener: Flattener, stm: ir.Stm, space: ir.Space, body: ir.Body) -> tuple[ir.Stm, ...]:
    """A loop over all points that collects the results of ``body`` in ``stm.pat``."""
    blank = flattener.copies(stm.pat)
    start = tuple(ir.Stm((p,), ir.Replicate(shape_of(p.type), zero(elem_of(p.type))))
                  for p in blank)
    loop = _level(flattener, space, (), body, blank)
    return (*start, ir.Stm(stm.pat, loop, stm.attrs, stm.loc))


def _level(flattener: Flattener, space: ir.Space, outer: ir.Space, body: ir.Body,
           arrays: tuple[ir.Param, ...]) -> ir.Loop:
    """The loop over the first dimension of ``space``, inside of those over ``outer``."""
    carried = flattener.copies(arrays)
    around = (*outer, space[0])
    if space[1:]:
        results = flattener.copies(arrays)
        stms: tuple[ir.Stm, ...] = (ir.Stm(results, _level(flattener, space[1:], around, body,
                                                     carried)),)
    else:
        stms, results = _point(flattener, around, body, carried)
    return ir.Loop(tuple(ir.LoopParam(p, a.name) for p, a in zip(carried, arrays, strict=True)),
                ir.ForLoop(space[0].index, space[0].width),
                ir.Body(stms, tuple(p.name for p in results)))


def _point(flattener: Flattener, space: ir.Space, body: ir.Body,
           arrays: tuple[ir.Param, ...]) -> tuple[tuple[ir.Stm, ...], tuple[ir.Param, ...]]:
    """The code of one point, and the arrays with its results."""
    here = replace(flattener, unwanted=flattener.unwanted | {"sequential"})
    flat, _ = here.body(Nest(), body)
    indices = tuple(dim.index for dim in space)
    results = flattener.copies(arrays)
    writes = []
    for result, array, value in zip(results, arrays, flat.result, strict=True):
        row = map(whole, shape_of(array.type)[len(space):])
        writes.append(ir.Stm((result,), ir.Update(array.name, (*indices, *row), value)))
    return (*flat.stms, *writes), results
