"""Second-order array combinators: their results, their inputs, and special widths."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.source import Loc
from runelift.ir.traverse import free_vars, needed_for, rename_lambda
from runelift.ir.types import Atom, Type, array_of, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.pick import bound_by_lambda, let, pick, pick_lambda, repeated
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scalar_code import body_may_fail, is_scalar_code
from runelift.rewrite.engine.scope import Scope, is_counting, is_whole, whole
from runelift.rewrite.rules.views import views_map


def operands(soac: ir.Map | ir.Redomap | ir.Scanomap) -> int:
    """The number of the lambda's results that are operands of operators; others become arrays."""
    return 0 if isinstance(soac, ir.Map) else sum(len(op.neutral) for op in soac.ops)


# Results


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def map_invariant(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → a) xs ⇒ replicate n a

    Provided: a is a constant or a name from outside of the lambda.
    """
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() as soac:
            bound = bound_by_lambda(soac.lam)
            count = operands(soac)
            vary = [k < count or (isinstance(a, VName) and a in bound)
                    for k, a in enumerate(soac.lam.body.result)]
            if all(vary):
                return None
            copies = tuple(
                ir.Stm((p,), ir.Replicate((soac.width,), a), loc=stm.loc)
                for p, a, v in zip(stm.pat, soac.lam.body.result, vary, strict=True) if not v)
            rest = replace(soac, lam=pick_lambda(soac.lam, vary))
            return (*copies, ir.Stm(pick(stm.pat, vary), rest, stm.attrs, stm.loc))
    return None


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def map_identity(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → x) xs ⇒ xs

    Provided: xs has as many elements as the map.
    """
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() as soac:
            source: dict[Atom, VName] = {
                p.name: a for p, a in zip(soac.lam.params, soac.arrays, strict=True)
                if shape_of(scope.type(a))[0] == soac.width}
            count = operands(soac)
            vary = [k < count or a not in source for k, a in enumerate(soac.lam.body.result)]
            if all(vary):
                return None
            same = [not v for v in vary]
            arrays = [source[a] for a in pick(soac.lam.body.result, same)]
            rest = replace(soac, lam=pick_lambda(soac.lam, vary))
            return (*let(pick(stm.pat, same), arrays),
                    ir.Stm(pick(stm.pat, vary), rest, stm.attrs, stm.loc))
    return None


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def map_same_result(scope: Scope, stm: ir.Stm) -> Replacement:
    """(ys, zs) = map (λx → (y, y)) xs ⇒ ys = map (λx → y) xs, zs = ys"""
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() as soac:
            count = operands(soac)
            found = repeated([k if k < count else a
                              for k, a in enumerate(soac.lam.body.result)])
            if found is None or found.names_sizes(stm.pat):
                return None
            return found.statements(stm, replace(soac, lam=pick_lambda(soac.lam, found.keep)))
    return None


@rule(ir.Redomap, ir.Scanomap)
def without_operators(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap () f xs ⇒ map f xs"""
    match stm.exp:
        case ir.Redomap(width, (), lam, arrays) | ir.Scanomap(width, (), lam, arrays):
            return ir.Map(width, lam, arrays)
    return None


@rule(ir.Redomap, ir.Scanomap)
def commutative_operator(scope: Scope, stm: ir.Stm) -> Replacement:
    """reduce ⊕ e xs ⇒ reduce_comm ⊕ e xs

    Provided: ⊕ is made of commutative primitive operations, one per pair of operands.
    """
    match stm.exp:
        case ir.Redomap(ops=ops) | ir.Scanomap(ops=ops):
            if not any(not op.comm and _commutes(op.lam) for op in ops):
                return None
            new = tuple(replace(op, comm=op.comm or _commutes(op.lam)) for op in ops)
            return replace(stm.exp, ops=new)
    return None


@rule(ir.Redomap)
def sum_invariant(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap (+) e (λx → a) xs ⇒ e + n × a

    Provided: the elements are integers, whose sums wrap around; a is a constant or a name from
    outside of the lambda.
    """
    soac = stm.exp
    assert isinstance(soac, ir.Redomap)
    bound, place = bound_by_lambda(soac.lam), 0
    keep = [True] * len(soac.lam.body.result)
    ops: list[ir.Operator] = []
    sums: list[ir.Stm] = []
    for op in soac.ops:
        term = soac.lam.body.result[place]
        if term not in bound and (prim := _added(op)) is not None:
            keep[place] = False
            sums += _multiple(scope, soac.width, term, op.neutral[0], stm.pat[place], prim)
        else:
            ops.append(op)
        place += len(op.neutral)
    if not sums:
        return None
    rest = replace(soac, ops=tuple(ops), lam=pick_lambda(soac.lam, keep))
    return (*sums, ir.Stm(pick(stm.pat, keep), rest, stm.attrs, stm.loc))


def _added(op: ir.Operator) -> Prim | None:
    """The type of the integers that an operator adds, if it does that and nothing else."""
    match op.primitive:
        case "add", prim if prim.is_int:
            return prim
    return None


def _multiple(scope: Scope, count: Atom, term: Atom, neutral: Atom, out: ir.Param,
              prim: Prim) -> tuple[ir.Stm, ...]:
    """``out = neutral + count × term``."""
    number, total = (ir.Param(scope.names.fresh(base), prim) for base in ("number", "total"))
    return (ir.Stm((number,), ir.Convert(Prim.I64, prim, count)),
            ir.Stm((total,), ir.PrimOp("mul", prim, (number.name, term))),
            ir.Stm((out,), ir.PrimOp("add", prim, (neutral, total.name))))


def _commutes(lam: ir.Lambda) -> bool:
    half = len(lam.params) // 2
    pairs = {frozenset((x.name, y.name)): k
             for k, (x, y) in enumerate(zip(lam.params[:half], lam.params[half:], strict=True))}
    made: dict[Atom, int] = {}
    for stm in lam.body.stms:
        match stm.exp:
            case ir.PrimOp(op, _, (VName() as x, VName() as y)) if (
                OPS[op].commutative and frozenset((x, y)) in pairs
            ):
                made[stm.pat[0].name] = pairs[frozenset((x, y))]
            case _:
                return False
    return [made.get(a) for a in lam.body.result] == list(range(half))


@rule(ir.Hist)
def hist_by_component(scope: Scope, stm: ir.Stm) -> Replacement:
    """hist (d, e) (⊕ ⊗) (λx → (i, a, b)) xs ⇒ hist (d ⊕, e ⊗) (λx → (i, i, a, b)) xs

    Provided: ⊕ works on the first components alone, ⊗ on the second; both are scalar code that
    cannot fail.
    Because: an update of one word can be atomic.
    """
    match stm.exp:
        case ir.Hist(width, ops, lam, arrays):
            split = [_components(op.op, scope) for op in ops]
            if all(len(each) == 1 for each in split):
                return None
            new, bins, rets = list[ir.HistOp](), list[Atom](), list[Type]()
            for number, (op, each) in enumerate(zip(ops, split, strict=True)):
                dests = [op.dests] if len(each) == 1 else [(d,) for d in op.dests]
                new += [ir.HistOp(op.bins, d, o) for d, o in zip(dests, each, strict=True)]
                bins += [lam.body.result[number]] * len(each)
                rets += [lam.ret[number]] * len(each)
            wider = ir.Lambda(lam.params, ir.Body(
                lam.body.stms, (*bins, *lam.body.result[len(ops):])), (*rets, *lam.ret[len(ops):]))
            return ir.Hist(width, tuple(new), wider, arrays)
    return None


def _components(op: ir.Operator, scope: Scope) -> list[ir.Operator]:
    """The operators of the components of ``op``; ``op`` alone if it cannot be divided."""
    lam, count = op.lam, len(op.neutral)
    if count == 1 or not is_scalar_code(lam.body.stms) or body_may_fail(lam.body):
        return [op]
    found = []
    for k, result in enumerate(lam.body.result):
        params = lam.params[k], lam.params[count + k]
        stms = needed_for(lam.body.stms, (result,))
        others = {p.name for p in lam.params} - {p.name for p in params}
        if others & free_vars(ir.Body(stms, (result,))):
            return [op]
        part = ir.Lambda(params, ir.Body(stms, (result,)), (lam.ret[k],))
        found.append(ir.Operator(rename_lambda(part, scope.names), (op.neutral[k],), op.comm))
    return found


# Inputs


@rule(ir.Map, ir.Redomap, ir.Scanomap, ir.Scatter, ir.Hist)
def input_twice(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx y → e) xs xs ⇒ map (λx → e[y ↦ x]) xs"""
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist() as soac:
            found = repeated(soac.arrays)
            if found is None:
                return None
            copies = found.copies(soac.lam.params)
            return _with_inputs(soac, found.keep, copies)
    return None


@rule(ir.Map, ir.Redomap, ir.Scanomap, ir.Scatter, ir.Hist)
def input_replicate(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λx → e) (replicate n a) ⇒ map (λ → e[x ↦ a])

    Provided: nothing consumes a, which lives longer now.
    """
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist() as soac:
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
    return None


@rule(ir.Map, ir.Redomap, ir.Scanomap, ir.Scatter, ir.Hist)
def input_copy(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f (copy xs) ⇒ map f xs

    Provided: nothing consumes xs, which lives longer now, and f does not update its parameter.
    """
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist() as soac:
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


@rule(ir.Map, ir.Redomap, ir.Scanomap, ir.Scatter, ir.Hist)
def input_index(scope: Scope, stm: ir.Stm) -> Replacement:
    """map (λi → e[xs[a, i, b]]) (iota n) ⇒ map (λi x → e[x]) (iota n) (xs[a, :, b]),
    map (λi → e[xs[:, i]]) (iota n) ⇒ map (λi x → e[x]) (iota n) (transpose xs)

    Provided: xs and a are free in the lambda, and that dimension of xs has n elements.  The index
    need not be checked, and xs is not consumed.
    Because: what is read element by element can be fused with what makes it.  Products are known by
    the arrays that their reductions read.
    Does not handle: rows for reductions, unless what makes them stands beside.
    """
    match stm.exp:
        case ir.Map() | ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist() as soac:
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
                                         or isinstance(_row(found[0].type(scope)), Prim)):
                    body.append(inner)
                    continue
                part, rest = found
                if part not in inputs:
                    inputs[part] = scope.fresh("x", _row(part.type(scope)))
                body.append(replace(inner, exp=_indexed(inputs[part].name, rest)))
            if not inputs:
                return None
            views: list[ir.Stm] = []
            arrays = [part.view(scope, views, stm.loc) for part in inputs]
            lam = ir.Lambda((*soac.lam.params, *inputs.values()),
                         ir.Body(tuple(body), soac.lam.body.result), soac.lam.ret)
            return (*views, replace(stm, exp=replace(soac, lam=lam,
                                                     arrays=(*soac.arrays, *arrays))))
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
        """The part in this order, with the views that it needs added to ``views``."""
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

    Indices in front of the counter are the same for all elements.  If those behind it are too, they
    are fixed as well, unless what makes the array stands here and could be fused.
    """
    match stm.exp:
        case ir.Index(name, named, False) if name not in bound:
            array = scope.resolve(name)
            assert isinstance(array, VName)
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


def _row(type_: Type) -> Type:
    return array_of(shape_of(type_)[1:], elem_of(type_))


def _indexed(row: VName, dims: tuple[ir.Dim, ...]) -> ir.AtomExp | ir.Index:
    return ir.Index(row, dims) if dims else ir.AtomExp(row)


def _with_inputs(soac: ir.Soac, keep: list[bool], copies: tuple[ir.Stm, ...]) -> ir.Soac:
    """``soac`` with some of its inputs; ``copies`` bind the parameters of the others."""
    lam = ir.Lambda(pick(soac.lam.params, keep),
                 ir.Body((*copies, *soac.lam.body.stms), soac.lam.body.result), soac.lam.ret)
    return replace(soac, lam=lam, arrays=pick(soac.arrays, keep))


# Widths


@rule(ir.Map, ir.Redomap, ir.Scanomap, ir.Scatter, ir.Hist)
def width_zero(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f [] ⇒ [],  redomap ⊕ e f [] ⇒ e,  scatter d f [] ⇒ d"""
    soac = stm.exp
    if not isinstance(soac, ir.Soac) or soac.width != i64(0):
        return None
    match soac:
        case ir.Scatter(dests=dests):
            return let(stm.pat, [d.array for d in dests])
        case ir.Hist(ops=hist_ops):
            return let(stm.pat, [d for op in hist_ops for d in op.dests])
        case ir.Redomap(ops=ops):
            neutral = [a for op in ops for a in op.neutral]
            return (*let(stm.pat[: len(neutral)], neutral),
                    *(_empty(p) for p in stm.pat[len(neutral):]))
    return tuple(_empty(p) for p in stm.pat)


def _empty(param: ir.Param) -> ir.Stm:
    return ir.Stm((param,), ir.Replicate(shape_of(param.type), zero(elem_of(param.type))))


@rule(ir.Map, ir.Redomap, ir.Scanomap)
def width_one(scope: Scope, stm: ir.Stm) -> Replacement:
    """map f [x] ⇒ [f x],  redomap ⊕ e f [x] ⇒ e ⊕ f x

    Provided: it stands in a lambda; outside, a scalar would travel from device to host.
    """
    match stm.exp:
        case (ir.Map() | ir.Redomap() | ir.Scanomap()) as soac if (
                soac.width == i64(1) and scope.depth):
            elements = tuple(
                ir.Stm((p,), ir.Index(a, (i64(0), *map(whole, shape_of(p.type)))), loc=stm.loc)
                for p, a in zip(soac.lam.params, soac.arrays, strict=True))
            rest, out = list(soac.lam.body.result), list(stm.pat)
            stms: list[ir.Stm] = [*elements, *soac.lam.body.stms]
            if isinstance(soac, ir.Redomap):
                for op in soac.ops:
                    count = len(op.neutral)
                    stms += _applied(op, rest[:count], out[:count])
                    rest, out = rest[count:], out[count:]
            stms += [ir.Stm((p,), ir.ArrayLit((a,), _row(p.type)), loc=stm.loc)
                     for p, a in zip(out, rest, strict=True)]
            return tuple(stms)
    return None


def _applied(op: ir.Operator, right: list[Atom], out: list[ir.Param]) -> tuple[ir.Stm, ...]:
    """``out = neutral ⊕ right``."""
    args = (*op.neutral, *right)
    return (*let(op.lam.params, args), *op.lam.body.stms, *let(out, op.lam.body.result))


SOAC = RuleBook([
    map_invariant, map_identity, map_same_result, without_operators, commutative_operator,
    hist_by_component, sum_invariant,
    input_twice, input_replicate, input_copy, input_index, width_zero, width_one,
])
