"""Second-order array combinators: their inputs."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.base.source import Loc
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, Type, array_of, as_name, elem_of, row_of, shape_of
from runelift.rewrite.engine.pick import bound_by_lambda, pick, repeated
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope, is_counting, is_whole, whole
from runelift.rewrite.rules.views import views_map


@rule(*ir.SOACS)
def input_twice(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx y → e) xs xs ⇒ map (λx → e[y ↦ x]) xs"""
    soac = ir.soac_of(stm)
    found = repeated(soac.arrays)
    if found is None:
        return None
    copies = found.copies(soac.lam.params)
    return _with_inputs(soac, found.keep, copies)


@rule(*ir.SOACS)
def input_replicate(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → e) (replicate n a) ⇒ map (λ → e[x ↦ a])

    Provided: nothing consumes a, which lives longer now.
    """
    soac = ir.soac_of(stm)
    copies: list[ir.Stm] = []
    keep: list[bool] = []
    for param, array in zip(soac.lam.params, soac.arrays, strict=True):
        match scope.exp(array):
            case ir.Replicate((_, *rest), value) if not (
                isinstance(value, VName) and scope.consumes(value)
            ):
                copies.append(ir.Stm((param,), ir.Replicate(tuple(rest), value) if rest
                                  else ir.AtomExp(value)))
                keep.append(False)
            case _:
                keep.append(True)
    return _with_inputs(soac, keep, tuple(copies)) if copies else None


@rule(*ir.SOACS)
def input_spread(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → e) (transpose (replicate m ys)) ⇒ map (λy → e[x ↦ replicate m y]) ys

    Provided: nothing consumes ys, which lives longer now, and e does not update x.
    """
    soac = ir.soac_of(stm)
    params, arrays, copies = list(soac.lam.params), list(soac.arrays), list[ir.Stm]()
    for place, (param, array) in enumerate(zip(soac.lam.params, soac.arrays, strict=True)):
        if (found := _spread(scope, array)) is None or scope.consumes(param.name):
            continue
        shape, ys, perm = found
        element = scope.fresh("y", row_of(scope.type(ys)))
        rows = scope.fresh("rows", array_of(shape, element.type))
        copies += [ir.Stm((rows,), ir.Replicate(shape, element.name), loc=stm.loc),
                   ir.Stm((param,), ir.Rearrange(perm, rows.name), loc=stm.loc)]
        params[place], arrays[place] = element, ys
    if copies:
        body = ir.Body((*copies, *soac.lam.body.stms), soac.lam.body.result)
        return replace(soac, lam=ir.Lambda(tuple(params), body, soac.lam.ret), arrays=tuple(arrays))
    return None


def _spread(scope: Scope, array: VName
            ) -> tuple[tuple[Atom, ...], VName, tuple[int, ...]] | None:
    """The replicated sizes and the array, if its first dimension stands in front of them.

    The last part is the order of the dimensions behind that one.
    """
    match scope.exp(array):
        case ir.Rearrange((first, *rest), origin):
            match scope.exp(origin):
                case ir.Replicate(shape, VName() as ys) if (
                        first == len(shape) and not scope.consumes(ys)):
                    return shape, ys, tuple(k - (k > first) for k in rest)
    return None


@rule(*ir.SOACS)
def input_copy(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f (copy xs) ⇒ map f xs

    Provided: nothing consumes xs, which lives longer now, and f does not update its parameter.
    """
    soac = ir.soac_of(stm)
    arrays: list[VName] = []
    for param, array in zip(soac.lam.params, soac.arrays, strict=True):
        match scope.exp(array):
            case ir.Copy(origin) if not (
                scope.consumes(origin) or scope.consumes(param.name)
            ):
                arrays.append(origin)
            case _:
                arrays.append(array)
    if tuple(arrays) != soac.arrays:
        return replace(soac, arrays=tuple(arrays))
    return None


@rule(*ir.SOACS)
def input_index(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λi → e[xs[a, i, b]]) (iota n) ⇒ map (λi x → e[x]) (iota n) (xs[a, :, b]),
    map (λi → e[xs[:, i]]) (iota n) ⇒ map (λi x → e[x]) (iota n) (transpose xs)

    Provided: xs and a are free in the lambda, and that dimension of xs has n elements.  The index
    need not be checked, and xs is not consumed.
    Because: what is read element by element can be fused with what makes it.  Products are known by
    the arrays that their reductions read.
    Does not handle: rows for reductions, unless what makes them stands beside.
    """
    soac = ir.soac_of(stm)
    counters = {p.name for p, a in zip(soac.lam.params, soac.arrays, strict=True)
                if is_counting(scope.exp(a))}
    if not counters:
        return None
    bound = bound_by_lambda(soac.lam)
    inputs: dict[_Part, ir.Param] = {}
    body: list[ir.Stm] = []
    for inner in soac.lam.body.stms:
        found = _counted(scope, inner, soac.width, counters, bound)
        if found is None or not (isinstance(soac, ir.Map) or found[0].made_here
                                 or isinstance(row_of(found[0].type(scope)), Prim)):
            body.append(inner)
            continue
        part, rest = found
        if part not in inputs:
            inputs[part] = scope.fresh("x", row_of(part.type(scope)))
        body.append(replace(inner, exp=_indexed(inputs[part].name, rest)))
    if not inputs:
        return None
    views: list[ir.Stm] = []
    arrays = [part.view(scope, views, stm.loc) for part in inputs]
    lam = ir.Lambda((*soac.lam.params, *inputs.values()),
                 ir.Body(tuple(body), soac.lam.body.result), soac.lam.ret)
    return (*views, replace(stm, exp=replace(soac, lam=lam, arrays=(*soac.arrays, *arrays))))


@rule(*ir.SOACS)
def input_element(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λxs → e[xs[j]]) xss ⇒ map (λx → e[x]) xss[:, j]

    Provided: j is known outside of the lambda, and e uses nothing else of xs.  xss is a parameter,
    which nothing consumes.
    Because: columns are known by the arrays that a reduction reads.
    """
    soac = ir.soac_of(stm)
    bound = bound_by_lambda(soac.lam)
    for place, (param, array) in enumerate(zip(soac.lam.params, soac.arrays, strict=True)):
        if isinstance(param.type, Prim) or array in scope.defs or scope.consumes(array):
            continue
        users = [each for each in soac.lam.body.stms if param.name in free_vars(each)]
        if not users or param.name in soac.lam.body.result:
            continue
        exp = users[0].exp
        if not isinstance(exp, ir.Index) or exp.checked or exp.array != param.name or any(
                each.exp != exp for each in users) or free_vars(exp) & bound - {param.name}:
            continue
        element = scope.fresh("x", users[0].pat[0].type)
        part = scope.fresh("xs", array_of((soac.width, *shape_of(element.type)),
                                          elem_of(element.type)))
        view = ir.Stm((part,), ir.Index(array, (whole(soac.width), *exp.dims)), loc=stm.loc)
        body = ir.Body(tuple(replace(each, exp=ir.AtomExp(element.name)) if each in users else each
                             for each in soac.lam.body.stms), soac.lam.body.result)
        params = (*soac.lam.params[:place], element, *soac.lam.params[place + 1:])
        arrays = (*soac.arrays[:place], part.name, *soac.arrays[place + 1:])
        return (view, replace(stm, exp=replace(soac, lam=ir.Lambda(params, body, soac.lam.ret),
                                               arrays=arrays)))
    return None


@dataclass(frozen=True, slots=True)
class _Part:
    """The elements ``array[dims]``, where slices are whole and other indices known outside.

    A counter goes through dimension ``counted`` of the part.  ``made_here``: what makes the array
    stands beside the operation that reads it.
    """

    array: VName
    dims: tuple[ir.Dim, ...]
    counted: int
    made_here: bool

    @property
    def order(self) -> tuple[int, ...]:
        """The dimensions of the part with the counted one in front."""
        rank = sum(isinstance(dim, ir.SliceDim) for dim in self.dims)
        return (self.counted, *range(self.counted), *range(self.counted + 1, rank))

    def type(self, scope: Scope) -> Type:
        """The type of the part in this order."""
        counts = [dim.count for dim in self.dims if isinstance(dim, ir.SliceDim)]
        return array_of(tuple(counts[k] for k in self.order), elem_of(scope.type(self.array)))

    def view(self, scope: Scope, views: list[ir.Stm], loc: Loc | None) -> VName:
        """The part in this order; statements for views are added to ``views``."""
        name = self.array
        counts = tuple(dim.count for dim in self.dims if isinstance(dim, ir.SliceDim))
        if len(counts) < len(self.dims):
            param = scope.fresh("x", array_of(counts, elem_of(scope.type(name))))
            views.append(ir.Stm((param,), ir.Index(name, self.dims), loc=loc))
            name = param.name
        if self.counted:
            param = scope.fresh("ts", self.type(scope))
            views.append(ir.Stm((param,), ir.Rearrange(self.order, name), loc=loc))
            name = param.name
        return name


def _counted(scope: Scope, stm: ir.Stm, width: Atom, counters: set[VName], bound: set[Atom]
             ) -> tuple[_Part, tuple[ir.Dim, ...]] | None:
    """The part that a counter of ``width`` goes through, and the indices of its elements.

    Indices in front of the counter do not vary from element to element.  If indices behind it do
    not either, they are fixed as well, unless what makes the array stands here and could be fused.
    """
    match stm.exp:
        case ir.Index(name, named, False) if name not in bound:
            array = as_name(scope.resolve(name))
            if scope.consumes(array) or views_map(scope, array):
                return None
            dims = tuple(d if isinstance(d, ir.SliceDim) else scope.resolve(d) for d in named)
            shape = shape_of(scope.type(array))
            place = next((k for k, dim in enumerate(dims) if dim in bound), None)
            if place is None or dims[place] not in counters or shape[place] != width:
                return None
            before, rest = dims[:place], dims[place + 1:]
            slices = [d for d in before if isinstance(d, ir.SliceDim)]
            if not all(is_whole(d, size) for d, size in zip(before, shape, strict=False)
                       if isinstance(d, ir.SliceDim)):
                return None
            made_here = array in scope.defs and scope.here(array) and len(slices) == len(before)
            behind: tuple[ir.Dim, ...] = tuple(map(whole, shape[place + 1:]))
            if not made_here and not any(isinstance(d, ir.SliceDim) or d in bound for d in rest):
                behind, rest = rest, ()
            inside = (*slices, *rest) if rest != behind else ()
            return _Part(array, (*before, whole(width), *behind), len(slices), made_here), inside
    return None


def _indexed(row: VName, dims: tuple[ir.Dim, ...]) -> ir.AtomExp | ir.Index:
    return ir.Index(row, dims) if dims else ir.AtomExp(row)


def _with_inputs(soac: ir.Soac, keep: list[bool], copies: tuple[ir.Stm, ...]) -> ir.Soac:
    """``soac`` with some of its inputs; ``copies`` bind the parameters of the dropped inputs."""
    lam = ir.Lambda(pick(soac.lam.params, keep),
                 ir.Body((*copies, *soac.lam.body.stms), soac.lam.body.result), soac.lam.ret)
    return replace(soac, lam=lam, arrays=pick(soac.arrays, keep))


SOAC_INPUTS = RuleBook([input_twice, input_replicate, input_spread, input_copy, input_index,
                         input_element])
